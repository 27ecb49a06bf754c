import { AgentError } from '../error/agent-error.ts';
import { abortables, onAbort } from './abortable.ts';

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
  /** Time in `listen` since the last call of `heard`, in milliseconds. */
  #silentMs = 0;
  /** Removes the listener on the caller's signal. */
  readonly end: () => void;

  /** `toError` returns the error for a wait that takes longer than `timeoutMs`. */
  constructor(
    caller: AbortSignal,
    timeoutMs: number,
    toError: (timeoutMs: number) => AgentError = modelTimeout,
  ) {
    this.#timeoutMs = timeoutMs;
    this.#toError = toError;
    const stop = (): void => this.#controller.abort(AgentError.from(caller.reason, 'ABORTED'));
    if (caller.aborted) stop();
    this.end = onAbort(caller, stop);
  }

  /**
   * Returns the value of `work`, or rejects with the reason of `signal`. Only one wait at a time is
   * allowed. `spentMs`: part of `timeoutMs` that has passed already.
   */
  async wait<T>(
    work: () => Promise<T>,
    timeoutMs: number = this.#timeoutMs,
    spentMs = 0,
  ): Promise<T> {
    this.signal.throwIfAborted();
    const onTimeout = (): void => this.#controller.abort(this.#toError(timeoutMs));
    const timer = setTimeout(onTimeout, Math.min(timeoutMs - spentMs, longestTimeout));
    try {
      return await this.#within(work());
    } finally {
      clearTimeout(timer);
    }
  }

  /** Works like `wait`, but all waits since the last call of `heard` share one time limit. */
  async listen<T>(work: () => Promise<T>, timeoutMs?: number): Promise<T> {
    const from = performance.now();
    try {
      return await this.wait(work, timeoutMs, this.#silentMs);
    } finally {
      this.#silentMs += performance.now() - from;
    }
  }

  /** Notes that the server sent content. */
  heard(): void {
    this.#silentMs = 0;
  }
}

function modelTimeout(timeoutMs: number): AgentError {
  return new AgentError('MODEL_TIMEOUT', `The model server sent no content for ${timeoutMs} ms`, {
    retryable: true,
  });
}
