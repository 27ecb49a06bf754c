/**
 * Calls `stop` once: at Ctrl-C, at a signal to end, or when the parent process has ended. Checks
 * the parent process, because npm's shell does not forward SIGTERM.
 */
export function onStop(stop: () => void): void {
  const parent = process.ppid;
  let called = false;
  const once = (): void => {
    if (called) return;
    called = true;
    clearInterval(watch);
    stop();
  };
  const watch = setInterval(() => {
    if (process.ppid !== parent) once();
  }, 500);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, once);
}
