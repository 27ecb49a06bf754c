import type { Middleware } from '../../agent/middleware.ts';
import { checkOptions } from '../../error/check-fields.ts';
import { maskSecrets } from '../../error/mask-secrets.ts';
import { friendlyText, type FriendlyWords } from '../../event/friendly-text.ts';
import { lastAnswer } from './last-answer.ts';

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
    orElse(given, limit) {
      const error = { ...given.toJSON(), message: maskSecrets(given.message) };
      if (text !== undefined) return { text: friendlyText(error, text), error };
      return { text: `${limit} reached. Error generating summary: ${error.message}`, error };
    },
  });
}
