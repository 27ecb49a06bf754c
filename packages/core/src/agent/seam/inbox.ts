import type { LiveRun } from '../run/live-run.ts';
import { admitInput } from '../step/settle.ts';
import type { Run } from './run.ts';
import { takeStep } from './take-step.ts';

export function inboxOf(live: LiveRun): Run['inbox'] {
  return {
    handle: (handler) => live.alive().inbox.add(handler),
    admit: (input) => takeStep(live, () => admitInput(live.wrappers, input)),
  };
}
