import type { StopEvent, StopReason } from './agent-result.ts';
import type { AgentInput } from './agent-input.ts';
import type { Msg } from '../message/msg.ts';
import type { EventOf, EventType } from './agent-event.ts';

/** A value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>;

/** The step of the loop at which a hook lets the run continue. */
type JumpTarget = 'model' | 'tools' | 'end';

/** Reason with which a hook can end an agent call. */
export type JumpReason = Extract<
  StopReason,
  'stop' | 'limit' | 'return-direct' | 'stopped-by-hook'
>;

/** Request of a hook to continue at another step of the loop, or to end the agent call. */
export interface Jump {
  /** Event of the hook. */
  readonly at: StopEvent;
  /** Name of the hook, for errors. */
  readonly hook?: string | undefined;
  readonly to: JumpTarget | 'stop';
  readonly messages?: AgentInput | undefined;
  /** Default: `stopped-by-hook`. */
  readonly reason?: JumpReason | undefined;
}

/**
 * Controls of a hook: methods of its event that ask the loop for an action. Each event offers only
 * some of them: see `EventControls`. If handlers request several actions at one event, a `stop`
 * counts before any jump. Of several jumps or rejections, the first one counts.
 */
export interface HookControls {
  /**
   * Ends the agent call here with reason `stopped-by-hook`. Open tool calls stay open. No further
   * tool starts.
   */
  stop(): void;
  /** AgentScope's name for `jumpTo('model', messages)`. */
  gotoReasoning(messages: readonly Msg[]): void;
  /**
   * Adds messages and continues at another step of the loop. At `pre-call`, the loop jumps before
   * the first model request. At `post-acting`, the loop jumps after all tool calls of the same
   * reply have ended. `reason`: reason of the result. Default: `stopped-by-hook`.
   *
   * `model` asks the model again, which counts as an iteration. Tool calls that still have no
   * result first get an `interrupted` result. `tools` runs the tool calls without a result,
   * including the tool calls in `messages`. Tool results in `messages` enter the log unchanged.
   * They skip `post-acting`, guards, limits and the eviction of large results. `end` closes the
   * open tool calls and ends the agent call. The last of `messages` becomes the answer; a string
   * becomes an assistant message. Without messages, the answer at `post-reasoning` and
   * `post-acting` is the model's last reply. At other events, the answer is then empty. Source:
   * Spring AI Alibaba, `jump_to`.
   */
  jumpTo(to: JumpTarget, messages?: string | Msg | readonly Msg[], reason?: JumpReason): void;
  /**
   * At `pre-acting`: refuses only this tool call. The model sees the reason. At `run-start` and
   * `pre-call`: ends the agent call with reason `rejected` and code `HOOK_REJECTED`. `reason`
   * becomes the answer, and nothing of the agent call is stored.
   */
  reject(reason: string): void;
}

/** Names of the controls that each event offers. Other events offer none. */
export interface EventControls {
  'run-start': 'reject';
  'pre-call': 'reject' | 'stop' | 'jumpTo';
  'pre-reasoning': 'stop' | 'jumpTo' | 'gotoReasoning';
  'post-reasoning': 'stop' | 'jumpTo' | 'gotoReasoning';
  'post-acting': 'stop' | 'jumpTo' | 'gotoReasoning';
  'pre-acting': 'stop' | 'reject';
  'pre-summary': 'stop';
}

/**
 * The event that a handler gets, such as `HookEvent<'pre-acting'>`: frozen, and with its controls
 * as methods. The controls work until the handler ends. They are not enumerable, so a copy such as
 * `{ ...event }` has none. Readers get events without controls. The use of any other control fails
 * with `CONFIGURATION`, except at text and argument deltas, which have no methods.
 */
export type HookEvent<K extends EventType = EventType> = K extends keyof EventControls
  ? EventOf<K> & Pick<HookControls, EventControls[K]>
  : EventOf<K>;

/** Events that handlers may change: all `pre-` and `post-` events. */
export type ModifiableEvent = Extract<EventType, `${'pre' | 'post'}-${string}`>;

/**
 * Handler of an event. If the event is modifiable, the next handler and the loop get the event that
 * this handler returns. A hook of a page has no run.
 */
export type HookHandler<K extends EventType, Context> = (
  event: HookEvent<K>,
  run: Context,
) => Awaitable<EventOf<K> | void>;

/**
 * A handler, alone or with a priority. Handlers with a lower priority run first. Handlers with the
 * same priority run in list order. Default priority: that of the hook.
 */
export type HookEntry<K extends EventType, Context> =
  | HookHandler<K, Context>
  | { readonly handle: HookHandler<K, Context>; readonly priority?: number };

/** The part of a middleware that handles events. */
export interface Hook<Context = unknown> {
  /** Name for errors and traces. */
  readonly name?: string;
  /** Handlers by event type, as `Hooks` has them. */
  readonly on?: {
    readonly [K in EventType | '*']?: HookEntry<K extends '*' ? EventType : K, Context>;
  };
  /**
   * Effect of an exception in a handler: `fail` makes the agent call fail, `ignore` drops the
   * exception. Default: the agent's option `onHookError`.
   */
  readonly onError?: 'fail' | 'ignore';
  /** Priority of all handlers of this hook that do not set their own. Default: 100. */
  readonly priority?: number;
}
