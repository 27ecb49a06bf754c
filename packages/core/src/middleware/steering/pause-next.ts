import type { Agent } from '../../agent/agent.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';
import type { Msg } from '../../message/msg.ts';

/**
 * Handles a request to an agent without a running call. With mode `pause`, the next agent call that
 * does not fail pauses before its first model request. Returns false for other modes.
 */
export function pauseNext(agent: Agent, request: string | Msg | InterruptRequest): boolean {
  if ((request as InterruptRequest).mode !== 'pause') return false;
  const { status } = agent;
  if (status.pauseNext) return true;
  status.pauseNext = true;
  const remove = agent.addHook({
    on: {
      // `loadState()` withdraws the request.
      'run-start': (_event, _control, run) => void (status.pauseNext && run.interrupt(request)),
      suspended() {
        status.pauseNext = false;
        remove();
      },
    },
  });
  return true;
}
