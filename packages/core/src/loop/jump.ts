import { AgentError } from '../error/agent-error.ts';
import type { StopEvent, StopReason } from '../event/agent-result.ts';
import type { HookControl, JumpTarget } from '../event/hook.ts';
import type { AgentInput } from './input/call-input.ts';

/** A hook's request to leave the usual order of steps. */
export interface Jump {
  /** The event at which the hook asked. */
  readonly at: StopEvent;
  readonly to: JumpTarget | 'stop';
  readonly messages?: AgentInput | undefined;
  /** Default `stopped-by-hook`. */
  readonly reason?: StopReason | undefined;
}

/** Returns the controls for the hooks of one event. They collect jumps in `asked`. */
export function controlOf(
  asked: Jump[],
  at: StopEvent,
): Pick<HookControl, 'stop' | 'jumpTo' | 'gotoReasoning'> {
  return {
    jumpTo: (to, messages, reason) => void asked.push({ at, to, messages, reason }),
    stop: () => void asked.push({ at, to: 'stop' }),
    gotoReasoning: (messages) => void asked.push({ at, to: 'model', messages }),
  };
}

/** Creates the error that ends the call with this reason as its answer. */
export function hookRejection(why = 'A hook rejected the call.'): AgentError {
  return new AgentError('HOOK_REJECTED', why);
}
