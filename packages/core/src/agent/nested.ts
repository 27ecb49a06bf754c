import type { EventOf, EventType } from '../event/agent-event.ts';
import type { Awaitable } from '../event/hook.ts';
import { onControlOf, type ControlCall, type OnControl } from '../event/hook-controls.ts';
import type { AgentHook, InnerStep, Wrap } from './middleware.ts';
import { markHandled } from '../wait/mark-handled.ts';
import { liveRunOf } from './per-run.ts';
import type { RunInfo } from '../model/chat-model.ts';
import type { RunView } from './seam/run-view.ts';
import type { Run } from './seam/run.ts';

/**
 * Returns one wrapper that consists of several, for middleware that is made of others. The first is
 * the outermost.
 */
export function nestedWraps<In, Out, R extends RunView = Run>(
  ...wraps: readonly Wrap<In, Out, R>[]
): Wrap<In, Out, R> {
  return (input, next, run) => {
    const wrapInner = (inner: InnerStep<In, Out>, wrap: Wrap<In, Out, R>) => (value: In) =>
      wrap(value, (innerValue) => markHandled(inner(innerValue)), run);
    return wraps.reduceRight(wrapInner, next)(input);
  };
}

/**
 * Changes what the controls of an event do for nested hooks. `next` does what the control does at
 * the event. Returns whether the later hooks do not get the event.
 */
export type WrapControl = (call: ControlCall, next: OnControl) => boolean | void;

/** What `nestedHooks()` returns: passes the event of a hook to more hooks. */
export interface NestedHooks {
  /**
   * Passes a modifiable event through the hooks and returns the event that they return. They get
   * the controls of the event: at a copy, every control fails with `CONFIGURATION`.
   */
  ask<K extends EventType>(event: EventOf<K>, wrap?: WrapControl): Awaitable<EventOf<K>>;
  /** Notifies all hooks, even if a hook fails, and returns the event unchanged. */
  tell<K extends EventType>(event: EventOf<K>): Awaitable<EventOf<K>>;
}

/**
 * Returns additional hooks of a run. Errors and time limits work as for the run's own hooks. Throws
 * `CONFIGURATION` if `run` is a copy.
 */
export function nestedHooks(run: RunInfo, hooks: readonly AgentHook[]): NestedHooks {
  const dispatcher = liveRunOf(run).hooks.with(hooks);
  return {
    ask(event, wrap = (call, next) => next(call)) {
      const next = onControlOf(event);
      return dispatcher.ask(event, next && ((call) => wrap(call, next)));
    },
    tell: (event) => dispatcher.tell(event, onControlOf(event)),
  };
}
