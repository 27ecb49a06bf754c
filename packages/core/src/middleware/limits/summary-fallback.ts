import { AgentError } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/check-fields.ts';
import { maskSecrets } from '../../error/mask-secrets.ts';
import { noSummary } from '../../loop/limit.ts';
import type { Middleware } from '../../loop/use/middleware.ts';
import { friendlyText, type FriendlyWords } from '../../event/friendly-text.ts';

export interface SummaryFallbackOptions {
  /**
   * Text of the answer, or a function that returns it for the error. `errorMessage` is such a
   * function. Default: names the limit and quotes the error, with secrets masked.
   */
  readonly text?: FriendlyWords;
}

/**
 * Answers with a fixed text if the agent's `onLimit` fails, for example because the model does not
 * reply (AgentScope: `summarizing`). The text is stored as the answer, and the result has the error
 * in `error`. An interrupt or abort is no failure. The agent call still fails with the errors of
 * guards, hooks, stores and limits. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function summaryFallback(options: SummaryFallbackOptions = {}): Middleware {
  checkOptions('CONFIGURATION', 'summaryFallback()', options, 'text:string|function|?');
  const { text } = options;
  return {
    name: 'summaryFallback',
    wrapLimit: (next) => async (context, steps) => {
      try {
        return await next(context, steps);
      } catch (thrown) {
        const given = AgentError.from(thrown);
        if (context.cut || notTheModels.test(given.code)) throw thrown;
        const error = { ...given.toJSON(), message: maskSecrets(given.message) };
        const reply = await noSummary(context, steps, (limit) =>
          text === undefined
            ? `${limit} reached. Error generating summary: ${error.message}`
            : friendlyText(error, text),
        );
        return { ...reply, error };
      }
    },
  };
}

/** Codes of failures that the model did not cause. The agent call fails with them. */
const notTheModels =
  /^(ABORTED|CALL_TIMEOUT|CONFIGURATION|LIMIT_EXCEEDED|(GUARD|HOOK|STORAGE|SESSION)_.*)$/;
