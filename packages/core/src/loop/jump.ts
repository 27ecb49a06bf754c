import { AgentError } from '../error/agent-error.ts';
import type { StopEvent, StopReason } from '../event/agent-result.ts';
import type { HookControl, JumpTarget } from '../event/hook.ts';
import type { AgentInput } from './input/call-input.ts';

/** Request of a hook to continue at another step of the loop, or to end the agent call. */
export interface Jump {
  /** Event of the hook. */
  readonly at: StopEvent;
  readonly to: JumpTarget | 'stop';
  readonly messages?: AgentInput | undefined;
  /** Default: `stopped-by-hook`. */
  readonly reason?: StopReason | undefined;
}

/** Returns the controls for the hooks of one event. Each control adds a jump to `asked`. */
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

/** Returns the error for a hook's rejection. `why` becomes the answer of the agent call. */
export function hookRejection(why = 'A hook rejected the call.'): AgentError {
  return new AgentError('HOOK_REJECTED', why);
}

/** Returns the first `stop` that hooks asked for, or else the first jump. */
export function firstOf(asked: readonly Jump[]): Jump | undefined {
  return asked.find(({ to }) => to === 'stop') ?? asked[0];
}
