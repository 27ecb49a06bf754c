/** Longest wait that `setTimeout` accepts, in milliseconds: about 24.8 days. */
const maxTimeoutMs = 2 ** 31 - 1;

/**
 * Returns the nearest time that `setTimeout` and `setInterval` accept. They fire at once after a
 * negative or too long time, such as `Infinity`.
 */
export function timerMs(ms: number): number {
  return Math.min(Math.max(ms, 0), maxTimeoutMs);
}

/** Resolves after `ms` milliseconds, or as soon as the signal is aborted. */
export function sleepFor(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, timerMs(ms));
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
}
