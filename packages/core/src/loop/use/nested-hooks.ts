import type { HookDispatcher } from '../../event/hook-dispatcher.ts';
import { runOf } from '../run/run-view.ts';
import type { RunContext } from '../run/run-context.ts';
import type { AgentHook } from './middleware.ts';

/**
 * Returns a dispatcher for additional hooks of a run. Errors and time limits work as for the run's
 * own hooks.
 */
export function nestedHooks(context: RunContext, hooks: readonly AgentHook[]): HookDispatcher {
  return runOf(context).hooks.nested(hooks);
}
