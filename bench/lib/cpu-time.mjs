import { readdirSync, readFileSync } from 'node:fs';

/**
 * Returns the CPU milliseconds of a process so far, summed over its threads. Linux only; finer than
 * `ps`.
 */
export function cpuTimeOf(pid) {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => {
    try {
      return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      return 0; // the thread has ended
    }
  });
  return threads.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e6;
}
