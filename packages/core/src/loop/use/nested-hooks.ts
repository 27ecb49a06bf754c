import type { HookDispatcher } from '../../event/hook-dispatcher.ts';
import { runOf } from '../run/run-view.ts';
import type { RunContext } from '../run/run-context.ts';
import type { AgentHook } from './middleware.ts';

/**
 * Returns a dispatcher of more hooks of a run. They fail, are ignored and are ended as the run's own
 * hooks are.
 */
export function nestedHooks(context: RunContext, hooks: readonly AgentHook[]): HookDispatcher {
  return runOf(context).hooks.nested(hooks);
}
