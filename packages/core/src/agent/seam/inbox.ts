import type { LiveRun } from '../run/live-run.ts';
import { admitInput } from '../step/settle.ts';
import type { Run } from './run.ts';
import { takeStep } from './take-step.ts';

/** Returns the group `run.inbox`. */
export function inboxOf(run: LiveRun): Run['inbox'] {
  return {
    handle: (handler) => run.alive().inbox.add(handler),
    admit: (input) => takeStep(run, () => admitInput(run, input)),
  };
}
