import { checkFields } from '../../error/check-fields.ts';
import { backoff, type BackoffOptions } from './backoff.ts';
import { tryInTurn } from './try-in-turn.ts';
import { withStream, type ModelMiddleware } from '../../model/wrap-model.ts';

export interface RetryOptions extends BackoffOptions {
  /**
   * Whether to ask again if a reply breaks off after its first delta. A `reset` delta discards the
   * text so far; readers see it as `step-reset`. Default false: such a failure is final.
   */
  readonly afterFirstDelta?: boolean;
}

/**
 * Asks the model again after a transient failure: 1 s, 2 s, 4 s … later, or when the server says
 * (`Retry-After`). It never retries a cancellation, which ends a wait at once. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function retry(options: RetryOptions = {}): ModelMiddleware {
  const wait = backoff('retry()', options);
  checkFields('CONFIGURATION', 'retry()', options, 'afterFirstDelta:boolean|?');
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
            return (await wait({ error, attempt, of: model.modelId, signal, run }))
              ? first
              : undefined;
          },
        });
      }),
  };
}
