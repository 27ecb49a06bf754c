import type { StopReason } from './agent-result.ts';
import type { Msg } from '../message/msg.ts';
import type { AgentEvent, EventOf } from './agent-event.ts';

export type Awaitable<T> = T | Promise<T>;

type EventType = AgentEvent['type'];

export type JumpTarget = 'model' | 'tools' | 'end';

/** How a call ends that a hook ends. */
export type JumpReason = Extract<
  StopReason,
  'stop' | 'limit' | 'return-direct' | 'stopped-by-hook'
>;

/**
 * What a handler can ask of the loop, besides giving another event back. Of several jumps that are
 * asked for at one event, the first counts. Each event has some of these: see `ControlOf`.
 */
export interface HookControl {
  /** Ends the call here with reason `stopped-by-hook`. Open tool calls stay open. No tool starts. */
  stop(): void;
  /** As `jumpTo('model', messages)`. */
  gotoReasoning(messages: readonly Msg[]): void;
  /**
   * Adds these messages and goes on at another place (Spring AI Alibaba: `jump_to`). From
   * `pre-call`, it goes there before the first request. From `post-acting`, it goes there once all
   * calls of the round have ended.
   *
   * `model`: reason again, which counts as an iteration. Calls that have no result by then are
   * interrupted. `tools`: run the calls that have no result, those of an assistant message given
   * here too. Results among the messages enter the log as they are, without `post-acting`: no
   * guard, limit or eviction sees them. `end`: close open calls and end the call with the last of
   * the messages (a text is the assistant's), or as it stands. `reason` default `stopped-by-hook`.
   */
  jumpTo(to: JumpTarget, messages?: string | Msg | readonly Msg[], reason?: JumpReason): void;
  /**
   * At `pre-acting`: refuses just this call; the model sees the reason. At `run-start` and
   * `pre-call`: ends the call with reason `rejected` and code `HOOK_REJECTED`, and nothing of it is
   * stored; `reason` is its answer.
   */
  reject(reason: string): void;
}

/** The controls of each event that has any. */
export interface EventControls {
  'run-start': Pick<HookControl, 'reject'>;
  'pre-call': Pick<HookControl, 'reject' | 'stop' | 'jumpTo'>;
  'pre-reasoning': Pick<HookControl, 'stop' | 'jumpTo' | 'gotoReasoning'>;
  'post-reasoning': Pick<HookControl, 'stop' | 'jumpTo' | 'gotoReasoning'>;
  'post-acting': Pick<HookControl, 'stop' | 'jumpTo' | 'gotoReasoning'>;
  'pre-acting': Pick<HookControl, 'stop' | 'reject'>;
  'pre-summary': Pick<HookControl, 'stop'>;
}

/** What handlers of an event can ask for. A call of another control fails with `CONFIGURATION`. */
export type ControlOf<K extends EventType> = K extends keyof EventControls
  ? EventControls[K]
  : Readonly<Record<never, never>>;

export type HookArgs<K extends EventType, Context> = [
  event: EventOf<K>,
  control: ControlOf<K>,
  context: Context,
];

/** What it returns replaces a modifiable event, for the next handler and the loop. */
export type HookHandler<K extends EventType, Context> = (
  ...args: HookArgs<K, Context>
) => Awaitable<EventOf<K> | void>;

/** A handler, or one with a priority: default 100; lower runs first, equal ones in list order. */
export type HookEntry<K extends EventType, Context> =
  | HookHandler<K, Context>
  | { readonly handle: HookHandler<K, Context>; readonly priority?: number };

/**
 * Handlers by event. The pre- and post- events are modifiable (`pre-call` unless the agent's
 * `preCall` says otherwise): the returned event (or the same one, when nothing is returned) goes to
 * the next handler. All others are notifications: frozen, and what is returned is ignored.
 */
export type Hooks<Context> = {
  readonly [K in EventType]?: HookEntry<K, Context>;
};

/** The parts of a middleware that listen to events. */
export interface Hook<Context = unknown> {
  /** For errors and traces. */
  readonly name?: string;
  readonly on?: Hooks<Context>;
  /** What an exception in a handler does: fail the call or nothing. Default: `onHookError`. */
  readonly onError?: 'fail' | 'ignore';
  /**
   * One handler for all events; runs after this hook's `on` handler of the same priority. Which
   * controls there are depends on the event: see `ControlOf`.
   */
  onEvent?(
    event: AgentEvent,
    control: Partial<HookControl>,
    context: Context,
  ): Awaitable<AgentEvent | void>;
}
