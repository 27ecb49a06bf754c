import { checkOptions } from '../error/options/check-options.ts';
import { boolean, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';
import {
  otherRetryNames,
  retryDelayOptions,
  retryWaiter,
  type RetryDelayOptions,
} from './retry-delay.ts';
import { tryEach } from './try-each.ts';

/** How often `retry()` asks again, after which errors, and who is told. */
export interface RetryOptions extends RetryDelayOptions {
  /**
   * Whether to ask again if a reply fails after its first delta. A `reset` delta then discards the
   * text so far; readers get a `step-reset`. Default: false, so the request fails.
   */
  readonly afterFirstDelta?: boolean;
}

/**
 * Asks the model again after a transient failure. Waits 1 s, 2 s, 4 s and so on, or as long as the
 * server asks for. A cancellation ends the wait at once and is never retried. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function retry(options: RetryOptions = {}): ModelMiddleware {
  checkOptions('retry()', options, retryOptions, 'CONFIGURATION', otherRetryNames);
  const waitForRetry = retryWaiter(options);
  const { afterFirstDelta = false } = options;
  return {
    name: 'retry',
    wrapModel: (model) =>
      withStream(model, (request, context) => {
        const { signal, run } = context;
        const target = { model, request };
        return tryEach(target, context, 'retry', async ({ error, attempt: count, hasBegun }) => {
          if (hasBegun && !afterFirstDelta) return undefined;
          const failure = { error, attempt: count, target: model.modelId, run };
          const isRetried = await waitForRetry(failure, signal);
          return isRetried ? target : undefined;
        });
      }),
  };
}

const retryOptions: OptionTable<RetryOptions> = {
  ...retryDelayOptions,
  afterFirstDelta: optional(boolean),
};
