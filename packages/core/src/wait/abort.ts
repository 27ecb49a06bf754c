/**
 * Returns a promise that settles like the given one. Rejects with the signal's reason as soon as
 * the signal is aborted. Use it for work that may ignore the signal.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const removeListener = onAbort(signal, () => reject(signal.reason));
    // This chain cannot reject, so `then` is enough. `finally` would create two more promises.
    promise.then(resolve, reject).then(removeListener);
  });
}

/** Functions to call at the abort of a signal. */
const callsAtAbort: WeakMap<AbortSignal, Set<() => void>> = new WeakMap();

/**
 * Calls `stop` when the signal aborts, or at once if it has. Returns a function that prevents this
 * call. All calls of a signal share one listener, because thousands take quadratic time in Node.
 */
export function onAbort(signal: AbortSignal, stop: () => void): () => void {
  const calls = callsAtAbort.get(signal) ?? new Set();
  if (!callsAtAbort.has(signal)) {
    callsAtAbort.set(signal, calls);
    signal.addEventListener('abort', () => calls.forEach((call) => call()));
  }
  calls.add(stop);
  if (signal.aborted) stop();
  return () => void calls.delete(stop);
}
