import { onTestFinished } from 'vitest';

/**
 * Returns a signal for the calls of a host that dies during the test. Such a call hangs, because
 * its model, hook or store does. The signal aborts when the test ends, so that the call ends, too.
 */
export function signalUntilTestEnd(): AbortSignal {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  return controller.signal;
}
