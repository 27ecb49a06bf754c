import type { StopReason } from './agent-result.ts';
import type { Msg } from '../message/msg.ts';
import type { AgentEvent, EventOf } from './agent-event.ts';

export type Awaitable<T> = T | Promise<T>;

type EventType = AgentEvent['type'];

export type JumpTarget = 'model' | 'tools' | 'end';

/** Why a call ended, if a hook ended it. */
export type JumpReason = Extract<
  StopReason,
  'stop' | 'limit' | 'return-direct' | 'stopped-by-hook'
>;

/**
 * Actions that a handler can request from the loop, besides returning another event. If handlers
 * request several jumps or rejections at one event, the first one counts. Each event has some of
 * these controls: see `ControlOf`. A handler can use them until it ends.
 */
export interface HookControl {
  /** Ends the call here with reason `stopped-by-hook`. Open tool calls stay open. No tool starts. */
  stop(): void;
  /** Same as `jumpTo('model', messages)`. */
  gotoReasoning(messages: readonly Msg[]): void;
  /**
   * Adds these messages and continues at another place (Spring AI Alibaba: `jump_to`). At
   * `pre-call`, the loop jumps before the first model request. At `post-acting`, the loop jumps
   * after all tool calls of the round have ended.
   *
   * `model` asks the model again, which counts as an iteration. Tool calls that have no result when
   * the model is asked are interrupted. `tools` runs the calls without a result, including those of
   * an assistant message given here. Results among the messages enter the log unchanged, without
   * `post-acting`: no guard, limit or eviction sees them. `end` closes the open tool calls and ends
   * the agent's call. The last of the messages becomes the answer (a string is the assistant's);
   * without messages, the call ends as it stands. `reason` default `stopped-by-hook`.
   */
  jumpTo(to: JumpTarget, messages?: string | Msg | readonly Msg[], reason?: JumpReason): void;
  /**
   * At `pre-acting`: refuses only this tool call; the model sees the reason. At `run-start` and
   * `pre-call`: ends the call with reason `rejected` and code `HOOK_REJECTED`. `reason` becomes its
   * answer, and nothing of the call is stored.
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

/** Controls that handlers of an event can use. Any other control fails with `CONFIGURATION`. */
export type ControlOf<K extends EventType> = K extends keyof EventControls
  ? EventControls[K]
  : Readonly<Record<never, never>>;

export type HookArgs<K extends EventType, Context> = [
  event: EventOf<K>,
  control: ControlOf<K>,
  context: Context,
];

/**
 * Handler of an event. For a modifiable event, the returned event replaces it for the next handler
 * and the loop.
 */
export type HookHandler<K extends EventType, Context> = (
  ...args: HookArgs<K, Context>
) => Awaitable<EventOf<K> | void>;

/** A handler, or one with a priority: default 100; lower runs first, equal ones in list order. */
export type HookEntry<K extends EventType, Context> =
  | HookHandler<K, Context>
  | { readonly handle: HookHandler<K, Context>; readonly priority?: number };

/**
 * Handlers by event. The pre- and post- events are modifiable. The exception is `pre-call` if the
 * agent's option `preCall` is `notification`. The next handler gets the returned event, or the same
 * one if nothing is returned. All other events are notifications: they are frozen, and return
 * values are ignored.
 */
export type Hooks<Context> = {
  readonly [K in EventType]?: HookEntry<K, Context>;
};

/** The parts of a middleware that listen to events. */
export interface Hook<Context = unknown> {
  /** Name for errors and traces. */
  readonly name?: string;
  readonly on?: Hooks<Context>;
  /**
   * Effect of an exception in a handler: `fail` ends the call, `ignore` does nothing. Default:
   * `onHookError`.
   */
  readonly onError?: 'fail' | 'ignore';
  /**
   * Handles all events. It runs after this hook's `on` handler of the same priority. The event
   * determines the available controls: see `ControlOf`.
   */
  onEvent?(
    event: AgentEvent,
    control: Partial<HookControl>,
    context: Context,
  ): Awaitable<AgentEvent | void>;
}
