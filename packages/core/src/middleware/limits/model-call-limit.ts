import { checkOptions } from '../../error/check-fields.ts';
import { CallLimit, limitFields, type CallLimitOptions } from './call-limit.ts';
import type { Middleware } from '../../agent/middleware.ts';

/**
 * Limits the number of model requests in a run, in a session, or in both (Spring AI Alibaba:
 * `ModelCallLimitHook`). The count is part of the session's state and is checked before each
 * request of the loop. The closing request of `onLimit` does not count. A request that another hook
 * cancels counts. Throws `CONFIGURATION` without a limit.
 */
export function modelCallLimit(options: CallLimitOptions): Middleware {
  checkOptions('CONFIGURATION', 'modelCallLimit()', options, limitFields);
  const limit = new CallLimit('modelCallLimit()', 'modelCalls', 'model calls', options);
  return {
    name: 'modelCallLimit',
    onError: 'fail',
    wrapRun: (next) => limit.wrapRun(next),
    on: {
      'run-start': (event) => limit.begin(event),
      'run-end': (event) => limit.end(event),
      'pre-reasoning': (event, control) =>
        limit.take(event, control, `${event.runId}:${event.seq}`),
    },
  };
}
