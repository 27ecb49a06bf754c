import type { HookDispatcher } from '../event/hook-dispatcher.ts';
import type { AgentHook } from './middleware.ts';
import { runOf, type RunContext } from './run-context.ts';

/**
 * Returns a function that returns the value of a run: the same value for each call with the run's
 * context. Its first call creates the value with `begin`. Several agents may share the function.
 */
export function perRun<T>(begin: (context: RunContext) => T): (context: RunContext) => T {
  const values = new WeakMap<RunContext, { readonly value: T }>();
  return (context) => {
    const known = values.get(context);
    if (known) return known.value;
    const value = begin(context);
    values.set(context, { value });
    return value;
  };
}

/** What `nestedHooks()` returns: passes an event through more hooks. */
export type NestedHooks = Pick<HookDispatcher, 'modify' | 'notify'>;

/**
 * Returns additional hooks of a run. `modify` passes an event through them and resolves with the
 * event that they return. Errors and time limits work as for the run's own hooks. Throws
 * `CONFIGURATION` if `context` is a copy.
 */
export function nestedHooks(context: RunContext, hooks: readonly AgentHook[]): NestedHooks {
  return runOf(context).hooks.nested(hooks);
}
