import type { Middleware } from '../agent/middleware.ts';
import { AgentError, type AgentErrorCode } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { either, func, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { maskSecrets } from '../error/mask-secrets.ts';
import { friendlyText, type FriendlyText } from '../event/agent-result.ts';
import { answerAtLimit } from './answer-at-limit.ts';
import { answerWithText, limitOf, onLimitOf } from './summarize.ts';

/** The text of `summaryFallback()`. */
export interface SummaryFallbackOptions {
  /**
   * Text of the answer, or a function that returns it for the error. `userErrorText` is such a
   * function. Default: names the limit and quotes the error, with secrets masked.
   */
  readonly text?: FriendlyText;
}

/**
 * Answers with a fixed text if the agent's `onLimit` fails, for example because the model does not
 * reply. It is an `answerAtLimit()` and takes the place of that of `ReActAgent`. An output mode
 * such as `structured()` brings its own, so use one of the two. The text is stored as the answer,
 * and the result has the error in `error`. An interrupt or abort is no failure. The agent call
 * still fails with the errors of guards, hooks, stores and limits. Throws `CONFIGURATION` for an
 * option of the wrong kind. Source: AgentScope, `summarizing`.
 */
export function summaryFallback(options: SummaryFallbackOptions = {}): Middleware {
  checkOptions('summaryFallback()', options, summaryFallbackOptions);
  const { text } = options;
  return answerAtLimit({
    async answer(limit, run) {
      try {
        return await onLimitOf(run)(limit, run);
      } catch (thrown) {
        const agentError = AgentError.from(thrown);
        if (run.ending.stopped || otherFailures.includes(agentError.code)) throw thrown;
        const error = { ...agentError.toJSON(), message: maskSecrets(agentError.message) };
        const defaultText = `${limitOf(run)} reached. Error generating summary: ${error.message}`;
        const words = text === undefined ? defaultText : friendlyText(error, text);
        return { ...(await answerWithText(words, run)), error };
      }
    },
  });
}

const summaryFallbackOptions: OptionTable<SummaryFallbackOptions> = {
  text: optional(either(string, func)),
};

/** Codes of failures that have another cause than the model. The agent call fails with them. */
const otherFailures: readonly AgentErrorCode[] = [
  'ABORTED',
  'CALL_TIMEOUT',
  'CONFIGURATION',
  'LIMIT_EXCEEDED',
  'GUARD_REJECTED',
  'HOOK_ERROR',
  'HOOK_REJECTED',
  'STORAGE_QUOTA',
  'STORAGE_FAILED',
  'SESSION_STALE',
  'SESSION_CONFLICT',
  'SESSION_DELETED',
];
