import { AgentError } from '../error/agent-error.ts';

export interface Timeout {
  /** Raised with the other signal, and when the time is up. */
  readonly signal: AbortSignal;
  /** Lets go of the other signal and of the timer. */
  end(): void;
}

/** `what` could not be done in time: the words of the `STORAGE_FAILED` that is the signal's reason then. */
export function withTimeout(signal: AbortSignal, timeoutMs: number, what: string): Timeout {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  const onTimeout = (): void =>
    controller.abort(new AgentError('STORAGE_FAILED', `${what} was silent for ${timeoutMs} ms`, { retryable: true }));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  const timer = setTimeout(onTimeout, timeoutMs);
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
}
