import type { Msg } from '../message/msg.ts';
import type { AgentEvent, EventOf } from './agent-event.ts';

export type Awaitable<T> = T | Promise<T>;

/** What a handler can ask of the loop, besides giving another event back. */
export interface HookControl {
  /** From `post-reasoning` or `post-acting`: end the call here with reason `stopped-by-hook`; open tool calls stay open. */
  stop(): void;
  /** From `post-reasoning`: add these messages and reason again instead of acting or answering. */
  gotoReasoning(messages: readonly Msg[]): void;
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
   * Handlers by event. The pre- and post- events are modifiable (`pre-call` unless the agent's `preCall` says otherwise): the returned event (or the same one, when nothing is
   * returned) goes to the next hook. All others are notifications: frozen, and what is returned is ignored.
   */
  readonly on?: { readonly [K in AgentEvent['type']]?: (event: EventOf<K>, control: HookControl) => Awaitable<EventOf<K> | void> };
  /** One handler for all events; runs after this hook's `on` handler. */
  onEvent?(event: AgentEvent, control: HookControl): Awaitable<AgentEvent | void>;
}
