import { checkOptions } from '../../error/check-fields.ts';
import { CallLimit, endAt, limitFields, type CallLimitOptions } from './call-limit.ts';
import type { Middleware } from '../../agent/middleware.ts';

/**
 * Limits the number of model requests in a run, in a session, or in both (Spring AI Alibaba:
 * `ModelCallLimitHook`). The count is part of the session's state and is checked before each
 * request of the loop. The closing request of `onLimit` does not count. A request that another hook
 * cancels counts. Throws `CONFIGURATION` without a limit.
 */
export function modelCallLimit(options: CallLimitOptions): Middleware {
  checkOptions('modelCallLimit()', options, limitFields);
  const limit = new CallLimit('modelCallLimit()', 'modelCalls', 'model calls', options);
  return {
    name: 'modelCallLimit',
    wrapRequest: (next) => async (draft, context, steps) => {
      if (draft.limit) return next(draft);
      const words = limit.reachedBy(1, context);
      if (words !== undefined) return endAt(words, steps);
      const made = await next(draft);
      limit.count(context.iteration, context);
      return made;
    },
  };
}
