/**
 * The promise, or a rejection with the signal's reason as soon as it is raised: for work that may
 * not listen to the signal itself.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
    // It cannot reject, and `finally` would cost two promises more.
    promise.then(resolve, reject).then(() => signal.removeEventListener('abort', onAbort));
  });
}

/**
 * `abortable` for many promises of one signal, one after the other, by one listener, which is never
 * taken off: for a signal of the request itself.
 */
export function abortables(signal: AbortSignal): <T>(promise: Promise<T>) => Promise<T> {
  let stop: ((reason: unknown) => void) | undefined;
  signal.addEventListener('abort', () => stop?.(signal.reason));
  return (promise) =>
    new Promise((resolve, reject) => {
      stop = reject;
      if (signal.aborted) reject(signal.reason);
      promise.then(resolve, reject);
    });
}
