import type { HookDispatcher } from '../event/hook-dispatcher.ts';
import type { CallInput } from '../event/call-input.ts';
import type { AgentCall, AgentHook } from './middleware.ts';
import { runOf, type RunContext } from './run-context.ts';

export interface PerRun<T> {
  /** Returns the value of a run; `undefined` if the run has ended. */
  get(runId: string): T | undefined;
  /** Wrapper that creates and removes the value. Set it as `wrapRun` of the middleware. */
  readonly wrapRun: (next: AgentCall) => AgentCall;
}

export type NestedHooks = Pick<HookDispatcher, 'modify' | 'notify'>;

/** Keeps a value for each run until the run ends. Several agents may share the middleware. */
export function perRun<T>(
  begin: (context: RunContext, input: CallInput | undefined) => T,
): PerRun<T> {
  const kept = new Map<string, T>();
  return {
    get: (runId) => kept.get(runId),
    wrapRun: (next) => async (input, context) => {
      kept.set(context.runId, begin(context, input));
      try {
        return await next(input, context);
      } finally {
        kept.delete(context.runId);
      }
    },
  };
}

/**
 * Returns additional hooks of a run. `modify` passes an event through them and resolves with the
 * event that they return. Errors and time limits work as for the run's own hooks. Throws
 * `CONFIGURATION` if `context` is a copy.
 */
export function nestedHooks(context: RunContext, hooks: readonly AgentHook[]): NestedHooks {
  return runOf(context).hooks.nested(hooks);
}
