let consoleForm = (failure: unknown): unknown => failure;

/**
 * Sets how the console shows failures, for example without secrets. Default: the failure itself.
 */
export function showFailuresAs(show: (failure: unknown) => unknown): void {
  consoleForm = show;
}

/**
 * Reports a failure that no caller waits for. The failure goes to the listener. If there is no
 * listener, it goes to the console, prefixed with `what`. If the listener throws or rejects, its error
 * goes to the console and the reported operation continues.
 */
export function reportFailure<T extends readonly unknown[]>(
  what: string,
  listener: ((...args: T) => void) | undefined,
  ...args: T
): void {
  const warn = (failure: unknown): void => console.warn(what, consoleForm(failure));
  try {
    const work: unknown = listener ? listener(...args) : warn(args[0]);
    if (work instanceof Promise) work.catch(warn);
  } catch (failure) {
    warn(failure);
  }
}

/** Calls a listener, if there is one. If the listener throws, its error goes to the console. */
export function callListener<T extends readonly unknown[]>(
  listener: ((...args: T) => void) | undefined,
  ...args: T
): void {
  if (listener) reportFailure('A listener failed.', listener, ...args);
}
