import { AgentError } from '../error/agent-error.ts';
import { abortables } from './abortable.ts';

/** `setTimeout` takes no longer wait. */
export const longestTimeout: number = 2 ** 31 - 1;

/**
 * Ends the waits of one request or tool call: when the caller's signal is raised, or when one of them takes too long. Only time spent
 * in `wait` counts, so a slow reader of a reply costs the server nothing.
 */
export class Deadline {
  readonly #caller: AbortSignal;
  readonly #timeoutMs: number;
  readonly #toError: (timeoutMs: number) => AgentError;
  readonly #controller = new AbortController();
  /** For `fetch`; its reason is an `AgentError`. */
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #within = abortables(this.signal);

  /** `toError`: what a wait that took so many milliseconds fails with. */
  constructor(caller: AbortSignal, timeoutMs: number, toError: (timeoutMs: number) => AgentError = modelTimeout) {
    this.#caller = caller;
    this.#timeoutMs = timeoutMs;
    this.#toError = toError;
    if (caller.aborted) this.#onAbort();
    caller.addEventListener('abort', this.#onAbort);
  }

  /** The work's outcome, or a rejection with the signal's reason; one wait at a time. */
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

  end(): void {
    this.#caller.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.#controller.abort(AgentError.from(this.#caller.reason, 'ABORTED'));
}

function modelTimeout(timeoutMs: number): AgentError {
  return new AgentError('MODEL_TIMEOUT', `The model server was silent for ${timeoutMs} ms`, { retryable: true });
}
