import { logText } from './log-text.ts';

/**
 * Reports a failure that no caller waits for. The failure goes to the listener. If there is no
 * listener, it goes to the console without secrets, prefixed with `what`. If the listener throws or
 * rejects, the failure and the listener's error go to the console, and the reported operation
 * continues.
 */
export function reportFailure<T extends readonly unknown[]>(
  what: string,
  listener: ((...args: T) => void) | undefined,
  ...args: T
): void {
  const [failure] = args;
  if (!listener) return warn(what, failure);
  callWith(listener, args, (error) => {
    // The listener may throw the failure itself again.
    if (error !== failure) warn(what, failure);
    warn(what, error);
  });
}

/** Calls a listener, if there is one. If the listener throws, its error goes to the console. */
export function callListener<T extends readonly unknown[]>(
  listener: ((...args: T) => void) | undefined,
  ...args: T
): void {
  if (listener) callWith(listener, args, (error) => warn('A listener failed.', error));
}

function callWith<T extends readonly unknown[]>(
  listener: (...args: T) => void,
  args: T,
  onError: (error: unknown) => void,
): void {
  try {
    const work: unknown = listener(...args);
    if (work instanceof Promise) work.catch(onError);
  } catch (error) {
    onError(error);
  }
}

function warn(what: string, failure: unknown): void {
  console.warn(what, logText(failure));
}
