import type { LiveRun } from '../run/live-run.ts';
import type { Run } from './run.ts';

/** Returns the group `run.tools`. */
export function toolsOf(live: LiveRun): Run['tools'] {
  return {
    get current() {
      return live.tools.current;
    },
    get schemas() {
      return live.tools.schemas;
    },
    get added() {
      return live.tools.added;
    },
    context: live.tools.context,
    add: (tools) => live.alive().tools.add(tools),
    set(tools) {
      live.alive().tools.current = tools;
    },
  };
}
