import { AgentError } from '../error/agent-error.ts';

/** The promise, or a rejection with `ABORTED` as soon as the signal is raised, for work that may not listen to it. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => {});
    return Promise.reject(abortError(signal));
  }
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortError(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

export function abortError(signal: AbortSignal): AgentError {
  return AgentError.is(signal.reason) ? signal.reason : new AgentError('ABORTED', 'The call was aborted.', { cause: signal.reason });
}
