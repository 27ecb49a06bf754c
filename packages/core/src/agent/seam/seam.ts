import type { Seam } from '../run/live-run.ts';
import { MappedRun } from './mapped-run.ts';
import { RunObject } from './run-object.ts';

/** The objects that middleware gets of a run. */
export const seam: Seam = {
  runOf: (live) => new RunObject(live),
  viewOf: (live) => new MappedRun(live),
};
