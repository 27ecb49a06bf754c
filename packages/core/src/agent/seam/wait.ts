import { markHandled } from '../../wait/mark-handled.ts';
import type { LiveRun } from '../run/live-run.ts';

/** Waits of a run for other code. */
export interface RunWait {
  /**
   * Waits for code that may never settle. Rejects with the signal's reason after an abort. Works in
   * wrappers, hooks and tools.
   */
  for<T>(work: T | PromiseLike<T>): Promise<T>;
  /**
   * Returns the value of `work`, whose time does not count toward `limits.timeoutMs`. Works in
   * wrappers, hooks and tools.
   */
  untimed<T>(work: () => Promise<T>): Promise<T>;
}

/** Returns the waits of a run. */
export function waitOf(run: LiveRun): RunWait {
  const wait = async <T>(work: T | PromiseLike<T>): Promise<T> => run.alive().waits.forCode(work);
  const untimed = async <T>(work: () => Promise<T>): Promise<T> =>
    run.alive().clock.timeout.untimed(work);
  return {
    for: (work) => markHandled(wait(work)),
    untimed: (work) => markHandled(untimed(work)),
  };
}
