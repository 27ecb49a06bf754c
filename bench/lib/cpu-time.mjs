import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds a process has been on a CPU so far, all its threads together. Linux only: finer than what `ps` knows. */
export function cpuTimeOf(pid) {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => {
    try {
      return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      return 0; // the thread has ended meanwhile
    }
  });
  return threads.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e6;
}
