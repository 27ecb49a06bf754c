import { AgentError } from '../error/agent-error.ts';
import { abortables } from './abortable.ts';

/** Longest wait that `setTimeout` accepts, in milliseconds. */
export const longestTimeout: number = 2 ** 31 - 1;

/**
 * Ends the waits of one request or tool call: when the caller's signal is aborted, or when one wait
 * takes too long. Only time spent in `wait` counts, so a slow reader of a reply causes no timeout.
 */
export class Deadline {
  readonly #timeoutMs: number;
  readonly #toError: (timeoutMs: number) => AgentError;
  readonly #controller = new AbortController();
  /** Signal for `fetch`; its reason is an `AgentError`. */
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #within = abortables(this.signal);
  /** Removes the listener on the caller's signal. */
  readonly end: () => void;

  /** `toError` creates the error of a wait that took that many milliseconds. */
  constructor(
    caller: AbortSignal,
    timeoutMs: number,
    toError: (timeoutMs: number) => AgentError = modelTimeout,
  ) {
    this.#timeoutMs = timeoutMs;
    this.#toError = toError;
    const onAbort = (): void => this.#controller.abort(AgentError.from(caller.reason, 'ABORTED'));
    if (caller.aborted) onAbort();
    caller.addEventListener('abort', onAbort);
    this.end = () => caller.removeEventListener('abort', onAbort);
  }

  /**
   * Returns the result of the work, or rejects with the signal's reason. Only one wait at a time.
   */
  async wait<T>(work: () => Promise<T>, timeoutMs: number = this.#timeoutMs): Promise<T> {
    this.signal.throwIfAborted();
    const onTimeout = (): void => this.#controller.abort(this.#toError(timeoutMs));
    const timer = setTimeout(onTimeout, Math.min(timeoutMs, longestTimeout));
    try {
      return await this.#within(work());
    } finally {
      clearTimeout(timer);
    }
  }
}

function modelTimeout(timeoutMs: number): AgentError {
  return new AgentError('MODEL_TIMEOUT', `The model server sent nothing for ${timeoutMs} ms`, {
    retryable: true,
  });
}
