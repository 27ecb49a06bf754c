import type { HookDispatcher } from '../event/hook-dispatcher.ts';
import type { AgentHook, InnerStep, Wrap } from './middleware.ts';
import { markHandled } from '../wait/mark-handled.ts';
import { runOf } from './per-run.ts';
import type { RunContext } from './run-context.ts';

/**
 * Returns one wrapper that consists of several, for middleware that is made of others. The first is
 * the outermost.
 */
export function nestedWraps<In, Out>(...wraps: readonly Wrap<In, Out>[]): Wrap<In, Out> {
  return (next) => (input, context, steps) => {
    const wrapInner = (inner: InnerStep<In, Out>, wrap: Wrap<In, Out>) => (value: In) =>
      wrap((innerValue) => markHandled(inner(innerValue)))(value, context, steps);
    return wraps.reduceRight(wrapInner, next)(input);
  };
}

/** What `nestedHooks()` returns: passes an event through more hooks. */
export type NestedHooks = Pick<HookDispatcher, 'ask' | 'tell'>;

/**
 * Returns additional hooks of a run. `ask` passes an event through them and resolves with the
 * event that they return. Errors and time limits work as for the run's own hooks. Throws
 * `CONFIGURATION` if `context` is a copy.
 */
export function nestedHooks(context: RunContext, hooks: readonly AgentHook[]): NestedHooks {
  return runOf(context).hooks.with(hooks);
}
