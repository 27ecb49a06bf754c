import type { LiveRun } from '../run/live-run.ts';
import type { Run } from './run.ts';

/** Returns the group `run.tools`. */
export function toolsOf(run: LiveRun): Run['tools'] {
  return {
    get current() {
      return run.tools.current;
    },
    get schemas() {
      return run.tools.schemas;
    },
    get added() {
      return run.tools.added;
    },
    context: run.tools.context,
    add: (tools) => run.alive().tools.add(tools),
    set(tools) {
      run.alive().tools.current = tools;
    },
  };
}
