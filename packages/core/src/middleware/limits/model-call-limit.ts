import { CallLimit, type CallLimitOptions } from './call-limit.ts';
import type { Middleware } from '../../loop/use/middleware.ts';

/**
 * Limits the model requests of a run, of a session, or of both (Spring AI Alibaba:
 * `ModelCallLimitHook`). The count is kept with the session's state and checked before each request
 * of the loop. The closing request of `onLimit` does not count; a request that another hook cancels
 * does. Throws `CONFIGURATION` without a limit.
 */
export function modelCallLimit(options: CallLimitOptions): Middleware {
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
