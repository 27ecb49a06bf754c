import { AgentError } from '../error/agent-error.ts';
import { abortables, onAbort } from './abortable.ts';
import { timerMs } from './timer.ts';

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
  /** Waits for a promise without a time limit. Rejects with the reason of `signal` once it aborts. */
  readonly #within: <T>(promise: Promise<T>) => Promise<T> = abortables(this.signal);
  readonly #leaveCaller: () => void;
  /** The wait that runs now: when it is too long, and its time limit. */
  #wait: { readonly endsAt: number; readonly timeoutMs: number } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesAt = Infinity;
  /** Time in `listen` since the last call of `heard`, in milliseconds. */
  #silentMs = 0;

  /**
   * `timeoutMs`: longest wait. Default: 5 minutes. `toError` returns the error for a wait that takes
   * longer.
   */
  constructor(
    caller: AbortSignal,
    timeoutMs: number = 300_000,
    toError: (timeoutMs: number) => AgentError = modelTimeout,
  ) {
    this.#timeoutMs = timeoutMs;
    this.#toError = toError;
    const stop = (): void => this.#controller.abort(AgentError.from(caller.reason, 'ABORTED'));
    if (caller.aborted) stop();
    this.#leaveCaller = onAbort(caller, stop);
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
    this.#begin(performance.now() + timeoutMs - spentMs, timeoutMs);
    try {
      return await this.#within(work());
    } finally {
      this.#wait = undefined;
    }
  }

  /** Works like `wait`, but all waits since the last call of `heard` share one time limit. */
  async listen<T>(work: () => Promise<T>): Promise<T> {
    const from = performance.now();
    try {
      return await this.wait(work, this.#timeoutMs, this.#silentMs);
    } finally {
      this.#silentMs += performance.now() - from;
    }
  }

  /** Notes that the server sent content. */
  heard(): void {
    this.#silentMs = 0;
  }

  /** Removes the timer, and the listener on the caller's signal. */
  end(): void {
    clearTimeout(this.#timer);
    this.#leaveCaller();
  }

  #begin(endsAt: number, timeoutMs: number): void {
    this.signal.throwIfAborted();
    this.#wait = { endsAt, timeoutMs };
    if (endsAt < this.#firesAt) this.#start(endsAt);
  }

  /**
   * Starts the timer. It keeps running after the wait, because most waits of a reply have the same
   * time limit. A new timer for each network read would be slow, above all in Cloudflare Workers.
   */
  #start(endsAt: number): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const ms = timerMs(endsAt - now);
    this.#firesAt = now + ms;
    this.#timer = setTimeout(() => this.#check(), ms);
  }

  #check(): void {
    this.#firesAt = Infinity;
    if (!this.#wait) return;
    const { endsAt, timeoutMs } = this.#wait;
    if (endsAt > performance.now()) this.#start(endsAt);
    else this.#controller.abort(this.#toError(timeoutMs));
  }
}

function modelTimeout(timeoutMs: number): AgentError {
  return new AgentError('MODEL_TIMEOUT', `The model server sent no content for ${timeoutMs} ms`, {
    retryable: true,
  });
}
