import { checkOptions } from '../../error/agent-error.ts';
import { backoff, backoffFields, type BackoffOptions } from './backoff.ts';
import { tryInTurn } from './try-in-turn.ts';
import { withStream, type ModelMiddleware } from '../../model/wrap-model.ts';

/** How often `retry()` asks again, after which errors, and who is told. */
export interface RetryOptions extends BackoffOptions {
  /**
   * Whether to ask again if a reply fails after its first delta. A `reset` delta then discards the
   * text so far; readers get a `step-reset`. Default false: the request fails.
   */
  readonly afterFirstDelta?: boolean;
}

/**
 * Asks the model again after a transient failure. Waits 1 s, 2 s, 4 s and so on, or as long as the
 * server says in `Retry-After`. A cancellation ends the wait at once and is never retried. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function retry(options: RetryOptions = {}): ModelMiddleware {
  checkOptions('retry()', options, `${backoffFields} afterFirstDelta:boolean|?`);
  const wait = backoff(options);
  const { afterFirstDelta = false } = options;
  return {
    name: 'retry',
    wrapModel: (model) =>
      withStream(model, (request, context) => {
        const { signal, run } = context;
        const first = { model, request };
        return tryInTurn({
          first,
          context,
          reason: 'retry',
          async next({ error, attempt, begun }) {
            if (begun && !afterFirstDelta) return undefined;
            const goesOn = await wait({ error, attempt, of: model.modelId, signal, run });
            return goesOn ? first : undefined;
          },
        });
      }),
  };
}
