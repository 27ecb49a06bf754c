/** Longest wait that `setTimeout` accepts, in milliseconds: about 24.8 days. */
export const longestTimeout: number = 2 ** 31 - 1;

/**
 * Returns the nearest time that `setTimeout` and `setInterval` accept. They fire at once after a
 * negative or too long time, such as `Infinity`.
 */
export function timerMs(ms: number): number {
  return Math.min(Math.max(ms, 0), longestTimeout);
}
