import { checkNoOptions } from '../error/options/check-options.ts';
import { AgentError, errorText } from '../error/agent-error.ts';
import { classifyError } from '../error/classify-error.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';

/**
 * Adds codes to the errors of a custom model, as `classifyError` does. Without this middleware, an
 * error that is not an `AgentError` ends the agent call with `INTERNAL`. Source: Arc Reactor.
 */
export function classifyModelErrors(): ModelMiddleware;
export function classifyModelErrors(...args: readonly unknown[]): ModelMiddleware {
  checkNoOptions(
    'classifyModelErrors()',
    args,
    'For codes of your own, throw an AgentError in your model.',
  );
  return {
    name: 'classifyModelErrors',
    wrapModel: (model) =>
      withStream(model, async function* (request, context) {
        try {
          yield* model.stream(request, context);
        } catch (cause) {
          const isCoded = AgentError.is(cause) && cause.code !== 'INTERNAL';
          if (isCoded || context.signal.aborted) throw cause;
          const { code, transient: retryable, retryAfterMs } = classifyError(cause);
          const details = retryAfterMs === undefined ? undefined : { retryAfterMs };
          throw new AgentError(code, errorText(cause), { cause, retryable, details });
        }
      }),
  };
}
