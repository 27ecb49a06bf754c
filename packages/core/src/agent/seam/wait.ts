import { markHandled } from '../../wait/mark-handled.ts';
import type { LiveRun } from '../run/live-run.ts';
import type { Run } from './run.ts';

export function waitOf(live: LiveRun): Run['wait'] {
  const wait = async <T>(work: T | PromiseLike<T>): Promise<T> => live.alive().waits.forCode(work);
  const untimed = async <T>(work: () => Promise<T>): Promise<T> =>
    live.alive().clock.timeout.untimed(work);
  return {
    for: (work) => markHandled(wait(work)),
    untimed: (work) => markHandled(untimed(work)),
  };
}
