import { markHandled } from '../../wait/mark-handled.ts';
import type { LiveRun } from '../run/live-run.ts';

/**
 * Runs a step that middleware takes. The wrapper that takes it must not end before the step. It may
 * do other work meanwhile.
 */
export function takeStep<T>(live: LiveRun, work: () => Promise<T>): Promise<T> {
  return markHandled(live.waits.duringStep(work));
}

/**
 * Runs a step that may change the conversation. Rejects with `CONFIGURATION` before the run has
 * read its log.
 */
export function takeLogStep<T>(live: LiveRun, work: () => Promise<T>): Promise<T> {
  return takeStep(live, () => {
    live.writing();
    return work();
  });
}
