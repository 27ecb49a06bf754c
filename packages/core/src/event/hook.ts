import type { StopReason } from './agent-result.ts';
import type { Msg } from '../message/msg.ts';
import type { AgentEvent, EventOf } from './agent-event.ts';

export type Awaitable<T> = T | Promise<T>;

export type JumpTarget = 'model' | 'tools' | 'end';

/** How a call ends that a hook ends. */
export type JumpReason = Extract<
  StopReason,
  'stop' | 'limit' | 'return-direct' | 'stopped-by-hook'
>;

/**
 * What a handler can ask of the loop, besides giving another event back. Of several asked at one
 * event the first counts.
 */
export interface HookControl {
  /**
   * As `jumpTo` below: end the call here with reason `stopped-by-hook`; open tool calls stay open.
   */
  stop(): void;
  /** As `jumpTo('model', messages)`. */
  gotoReasoning(messages: readonly Msg[]): void;
  /**
   * From `pre-reasoning`, `post-reasoning` and `post-acting` (there once all calls of the round
   * have ended): add these messages and go on at another place (Spring AI Alibaba: `jump_to`).
   * `model`: reason again, which counts as an iteration; calls that have no result by then are
   * interrupted. `tools`: run the calls that have no result, those of an assistant message given
   * here too. Results among the messages enter the log as they are, without `post-acting`: no
   * guard, limit or eviction sees them. `end`: close open calls and end the call with the last of
   * the messages (a text is the assistant's), or as it stands; `reason` default `stopped-by-hook`.
   */
  jumpTo(to: JumpTarget, messages?: string | Msg | readonly Msg[], reason?: JumpReason): void;
  /** From `pre-acting`: refuse just this call; the model sees the reason. */
  reject(reason: string): void;
}

export interface Hook {
  readonly name?: string;
  /** Default 100; lower runs first, equal ones in the order they were given. */
  readonly priority?: number;
  /** What an exception in a handler does: fail the call (default) or nothing. */
  readonly onError?: 'fail' | 'ignore';
  /**
   * Handlers by event. The pre- and post- events are modifiable (`pre-call` unless the agent's
   * `preCall` says otherwise): the returned event (or the same one, when nothing is returned) goes
   * to the next hook. All others are notifications: frozen, and what is returned is ignored.
   */
  readonly on?: {
    readonly [K in AgentEvent['type']]?: (
      event: EventOf<K>,
      control: HookControl,
    ) => Awaitable<EventOf<K> | void>;
  };
  /** One handler for all events; runs after this hook's `on` handler. */
  onEvent?(event: AgentEvent, control: HookControl): Awaitable<AgentEvent | void>;
}
