import { AgentError, type AgentErrorData } from '../error/agent-error.ts';
import type { StopEvent, StopReason } from '../event/agent-result.ts';
import type { AgentInput } from '../event/call-input.ts';
import type { HookControl, JumpTarget } from '../event/hook.ts';
import type { Msg } from '../message/msg.ts';
import type { RequestDraft } from './middleware.ts';
import type { RunContext } from './run-context.ts';

/**
 * What a run does next: it asks the model, runs the open tool calls, or ends. This value is the only
 * way to steer the loop. `isAsked`: a hook asked for the model, so the results of tools are no
 * answer.
 */
export type Next =
  | { readonly to: 'model'; readonly isAsked?: boolean }
  | { readonly to: 'tools' }
  | Ending;

/** The end of a run. */
export interface Ending {
  readonly reason: StopReason;
  /** The answer. The loop stores it if the log does not have it yet. Default: an empty message. */
  readonly message?: Msg | undefined;
  /** Whether an earlier run stored the answer, after its hooks. */
  readonly isStored?: boolean | undefined;
  /** Whether to send the text of the answer to the readers, because no model wrote it. */
  readonly tell?: boolean | undefined;
  readonly output?: unknown;
  readonly error?: AgentErrorData | undefined;
  readonly stoppedAt?: StopEvent | undefined;
  /** The request that a limit refused. A wrapper may ask for a last answer with its messages. */
  readonly refused?: RequestDraft | undefined;
}

/** Returns whether a step of the loop ended the run, so that no other step follows. */
export function isEnding(value: object): value is Ending {
  return 'reason' in value;
}

/** Returns whether a step of the loop says what comes next, and made no model request. */
export function isNext(value: object): value is Next {
  return 'to' in value || isEnding(value);
}

/** The end of a run with an answer. */
export interface Answer extends Ending {
  readonly message: Msg;
}

/**
 * Returns whether the run ends with a reply of the model that the log does not have yet. Wrappers may
 * still judge it. False if a hook ended the run.
 */
export function isNewAnswer(next: Next, { messages }: RunContext): next is Answer {
  if (!isEnding(next) || !next.message || next.tell) return false;
  return /^(stop|limit)$/.test(next.reason) && !messages.includes(next.message);
}

/** Request of a hook to continue at another step of the loop, or to end the agent call. */
export interface Jump {
  /** Event of the hook. */
  readonly at: StopEvent;
  readonly to: JumpTarget | 'stop';
  readonly messages?: AgentInput | undefined;
  /** Default: `stopped-by-hook`. */
  readonly reason?: StopReason | undefined;
}

/** Returns the controls for the hooks of one event. Each control adds a jump to `jumps`. */
export function controlOf(
  jumps: Jump[],
  at: StopEvent,
): Pick<HookControl, 'stop' | 'jumpTo' | 'gotoReasoning'> {
  return {
    jumpTo: (to, messages, reason) => void jumps.push({ at, to, messages, reason }),
    stop: () => void jumps.push({ at, to: 'stop' }),
    gotoReasoning: (messages) => void jumps.push({ at, to: 'model', messages }),
  };
}

/** Returns the first `stop` that hooks asked for, or else the first jump. */
export function firstOf(jumps: readonly Jump[]): Jump | undefined {
  return jumps.find(({ to }) => to === 'stop') ?? jumps[0];
}

/** Returns the error for a hook's rejection. `why` becomes the answer of the agent call. */
export function hookRejection(why = 'A hook rejected the call.'): AgentError {
  return new AgentError('HOOK_REJECTED', why);
}

/** Returns whether a guard or a hook has rejected the agent call. */
export function isRejection(thrown: unknown): thrown is AgentError {
  return AgentError.is(thrown) && /^(GUARD|HOOK)_REJECTED$/.test(thrown.code);
}
