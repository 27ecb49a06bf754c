import { markHandled } from '../../wait/mark-handled.ts';
import type { LiveRun } from '../run/live-run.ts';

/**
 * Runs a step that middleware takes. The wrapper that takes it must not end before the step. It may
 * do other work meanwhile.
 */
export function step<T>(run: Pick<LiveRun, 'waits'>, work: () => Promise<T>): Promise<T> {
  return markHandled(run.waits.duringStep(work));
}

/** Runs a step that changes the conversation. */
export function logStep<T>(
  run: Pick<LiveRun, 'waits' | 'writing'>,
  work: () => Promise<T>,
): Promise<T> {
  return step(run, () => {
    run.writing();
    return work();
  });
}
