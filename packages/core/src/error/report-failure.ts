/**
 * Reports a failure that no caller waits for. It goes to the listener, or without one to the
 * console, prefixed with `what`. If the listener throws, its error goes to the console and the
 * reported operation continues.
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
