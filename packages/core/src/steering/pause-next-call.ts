import type { Agent } from '../agent/agent.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import type { Msg } from '../message/msg.ts';

/**
 * Lets `interrupt({ mode: 'pause' })` of an idle agent pause the next agent call that does not
 * fail, before its first model request. Returns false for other modes.
 *
 * @example
 * new ReActAgent({ name, model, interruptWhenIdle: pauseNextCall });
 */
export function pauseNextCall(agent: Agent, request: string | Msg | InterruptRequest): boolean {
  if ((request as InterruptRequest).mode !== 'pause') return false;
  const { status } = agent;
  if (status.pauseNext) return true;
  status.pauseNext = true;
  const remove = agent.addHook({
    on: {
      // `loadState()` withdraws the request.
      'run-start'(_event, run) {
        if (status.pauseNext) run.ending.interrupt(request);
      },
      suspended() {
        status.pauseNext = false;
        remove();
      },
    },
  });
  return true;
}
