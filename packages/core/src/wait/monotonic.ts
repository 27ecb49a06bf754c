/**
 * Clock for durations and time limits: milliseconds since any moment. Unlike `Date.now()`, it does
 * not jump when the date is set.
 */
export function monotonicNow(): number {
  return performance.now();
}

/** Returns a duration in whole milliseconds. The clock of some engines has fractions. */
export function msSince(startedAt: number, now: () => number = monotonicNow): number {
  return Math.max(0, Math.round(now() - startedAt));
}
