import { CallLimit, lastPriority, type CallLimitOptions } from './call-limit.ts';
import type { Extension } from '../../loop/extension.ts';

/**
 * Bounds the model requests of a run, of a session, or of both (Spring AI Alibaba:
 * `ModelCallLimitHook`); checked before each request of the loop, kept with the session's state.
 * The closing request of `onLimit` does not count, one that another hook calls off does. Throws
 * `CONFIGURATION` without a limit.
 */
export function modelCallLimit(options: CallLimitOptions): Extension {
  const limit = new CallLimit('modelCallLimit()', 'modelCalls', 'model calls', options);
  const name = 'modelCallLimit';
  return {
    wrapCall: limit.state.wrapCall!,
    hooks: [
      {
        name,
        on: {
          'run-start': (event) => limit.begin(event),
          'pre-reasoning': (event, control) =>
            void limit.check(event, control, 1, `${event.runId}:${event.seq}`),
        },
      },
      // Not before all limits have looked.
      {
        name,
        priority: lastPriority,
        on: { 'pre-reasoning': (event) => limit.add(event, `${event.runId}:${event.seq}`) },
      },
    ],
  };
}
