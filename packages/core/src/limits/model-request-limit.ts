import type { Middleware } from '../agent/middleware.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { callLimit, limitEnding, callLimitOptions, type CallLimitOptions } from './call-limit.ts';

/**
 * Limits the number of model requests in a run, in a session, or in both. The count is part of the
 * session's state and is checked before each request of the loop. The closing request of `onLimit`
 * does not count. A request that another hook cancels counts. Throws `CONFIGURATION` without a
 * limit. Source: Spring AI Alibaba, `ModelCallLimitHook`.
 */
export function modelRequestLimit(options: CallLimitOptions): Middleware {
  checkOptions('modelRequestLimit()', options, callLimitOptions);
  const limit = callLimit('modelRequests', 'model requests', options);
  return {
    name: 'modelRequestLimit',
    wrapRequest: async (draft, next, run) => {
      if (draft.limit) return next(draft);
      const excess = limit.excess(1, run);
      if (excess && options.atLimit === 'fail') throw excess;
      if (excess) return limitEnding(excess.message, run);
      const outcome = await next(draft);
      limit.setCount(run.iteration, run);
      return outcome;
    },
  };
}
