/** The promise, or a rejection with the signal's reason as soon as it is raised: for work that may not listen to the signal itself. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
    // It cannot reject, and `finally` would cost two promises more.
    promise.then(resolve, reject).then(() => signal.removeEventListener('abort', onAbort));
  });
}
