import { markHandled } from '../../wait/mark-handled.ts';
import type { LiveRun } from '../run/live-run.ts';
import type { Run } from './run.ts';
import { takeLogStep } from './take-step.ts';

/** Returns the group `run.log`. */
export function logOf(run: LiveRun): Run['log'] {
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
    edit: (change) => takeLogStep(run, () => run.log.edit(change)),
    load: () => markHandled(load()),
    store: () => markHandled(store()),
  };
}
