/**
 * Returns a promise that settles like the given one. Rejects with the signal's reason as soon as
 * the signal is aborted. Use it for work that may ignore the signal.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
    // This chain cannot reject, so `then` is enough. `finally` would create two more promises.
    promise.then(resolve, reject).then(() => signal.removeEventListener('abort', onAbort));
  });
}

/**
 * Returns a function like `abortable` for many promises of one signal, one at a time. Adds one
 * listener and never removes it, so use it for a signal that belongs to one request.
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
