import { reportFailure } from './report-failure.ts';

/**
 * Calls a listener, if there is one. One that throws is the listener's trouble: it goes to the
 * console.
 */
export function tell<T extends readonly unknown[]>(
  listener: ((...told: T) => void) | undefined,
  ...told: T
): void {
  if (listener) reportFailure('A listener failed.', listener, ...told);
}
