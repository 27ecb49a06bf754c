import { markHandled } from '../../wait/mark-handled.ts';
import type { LiveRun } from '../run/live-run.ts';
import type { LogEdit } from '../run/logged-conversation.ts';
import { logStep } from './step.ts';

/** The session's log, as middleware changes it. */
export interface RunLog {
  /**
   * Changes the conversation, in the log and in later model requests. Removes and appends in one
   * write if the memory can. Works in wrappers, hooks and tools, from `wrapSettle` on.
   */
  edit(change: LogEdit): Promise<void>;
  /**
   * Reads the session's state, unless this run has read it. Works in wrappers, hooks and tools.
   * Only `wrapRun`, `wrapInput` and hooks of `run-start` need it.
   */
  load(): Promise<void>;
  /**
   * Stores now what the next write would store, such as `run.state`. Works in wrappers, hooks and
   * tools.
   */
  store(): Promise<void>;
}

/** Returns the log of a run. */
export function logOf(run: LiveRun): RunLog {
  const load = async (): Promise<void> => {
    const { aborted, failure } = run.alive().ending;
    // If the agent refuses this call because another call runs, the state of the running call must
    // not change.
    if (!aborted && !failure) await run.log.restore();
  };
  const store = async (): Promise<void> => {
    await run.alive().setup.memory.flush?.();
  };
  return {
    edit: (change) => logStep(run, () => run.log.edit(change)),
    load: () => markHandled(load()),
    store: () => markHandled(store()),
  };
}
