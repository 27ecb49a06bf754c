import { AgentError } from '../error/agent-error.ts';

/** `setTimeout` takes no longer wait. */
const longestTimeout = 2 ** 31 - 1;

/**
 * Ends the waits of one request: when the caller's signal is raised, or when one of them takes too long. Only time spent in `wait`
 * counts, so a slow reader of the reply costs the server nothing.
 */
export class Deadline {
  readonly #caller: AbortSignal;
  readonly #timeoutMs: number;
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reject: ((reason: AgentError) => void) | undefined;
  /** Why the request was given up, if it was. */
  reason: AgentError | undefined;

  constructor(caller: AbortSignal, timeoutMs: number) {
    this.#caller = caller;
    this.#timeoutMs = timeoutMs;
    if (caller.aborted) this.#onAbort();
    else caller.addEventListener('abort', this.#onAbort);
  }

  /** For `fetch`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The work's outcome, or `reason`; one wait at a time. */
  wait<T>(work: () => Promise<T>, timeoutMs: number = this.#timeoutMs): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.reason) return reject(this.reason);
      this.#reject = reject;
      if (timeoutMs <= longestTimeout) this.#timer = setTimeout(this.#onTimeout, timeoutMs, timeoutMs);
      work().then(resolve, reject);
    }).finally(() => clearTimeout(this.#timer));
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => {
    const cause: unknown = this.#caller.reason;
    this.#stop(AgentError.is(cause) ? cause : new AgentError('ABORTED', 'The request to the model was aborted', { cause }));
  };

  readonly #onTimeout = (timeoutMs: number): void => {
    this.#stop(new AgentError('MODEL_TIMEOUT', `The model server was silent for ${timeoutMs} ms`, { retryable: true }));
  };

  #stop(reason: AgentError): void {
    if (this.reason) return;
    this.reason = reason;
    this.#controller.abort(reason);
    this.#reject?.(reason);
    this.end();
  }
}
