/**
 * Tells of a failure that nobody waits for: to the listener, else to the console, after `what`. A
 * listener that throws is the listener's trouble: what it threw goes to the console, and what it
 * was told of goes on.
 */
export function reportFailure<T extends readonly unknown[]>(
  what: string,
  listener: ((...told: T) => void) | undefined,
  ...told: T
): void {
  const warn = (failure: unknown): void => console.warn(what, failure);
  try {
    if (listener) listener(...told);
    else warn(told[0]);
  } catch (failure) {
    warn(failure);
  }
}
