import type { Middleware } from '../../agent/middleware.ts';
import { AgentError, checkOptions, type AgentErrorCode } from '../../error/agent-error.ts';
import { maskSecrets } from '../../error/mask-secrets.ts';
import { friendlyText, type FriendlyWords } from '../../event/agent-result.ts';
import { fixedText, lastAnswer, limitOf, usualAnswer } from './last-answer.ts';

/** The text of `summaryFallback()`. */
export interface SummaryFallbackOptions {
  /**
   * Text of the answer, or a function that returns it for the error. `errorMessage` is such a
   * function. Default: names the limit and quotes the error, with secrets masked.
   */
  readonly text?: FriendlyWords;
}

/**
 * Answers with a fixed text if the agent's `onLimit` fails, for example because the model does not
 * reply (AgentScope: `summarizing`). It is a `lastAnswer()` and takes the place of that of
 * `ReActAgent`. The text is stored as the answer, and the result has the error in `error`. An
 * interrupt or abort is no failure. The agent call still fails with the errors of guards, hooks,
 * stores and limits. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function summaryFallback(options: SummaryFallbackOptions = {}): Middleware {
  checkOptions('summaryFallback()', options, 'text:string|function|?');
  const { text } = options;
  return lastAnswer({
    async answer(context, steps) {
      try {
        return await usualAnswer(context)(context, steps);
      } catch (thrown) {
        const given = AgentError.from(thrown);
        if (context.stopped || notTheModels.includes(given.code)) throw thrown;
        const error = { ...given.toJSON(), message: maskSecrets(given.message) };
        const usual = `${limitOf(context)} reached. Error generating summary: ${error.message}`;
        const words = text === undefined ? usual : friendlyText(error, text);
        return { ...(await fixedText(words, steps)), error };
      }
    },
  });
}

/** Codes of failures that the model did not cause. The agent call fails with them. */
const notTheModels: readonly AgentErrorCode[] = [
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
];
