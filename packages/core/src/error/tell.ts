import { reportFailure } from './report-failure.ts';

/** Calls a listener, if there is one. If the listener throws, its error goes to the console. */
export function tell<T extends readonly unknown[]>(
  listener: ((...told: T) => void) | undefined,
  ...told: T
): void {
  if (listener) reportFailure('A listener failed.', listener, ...told);
}
