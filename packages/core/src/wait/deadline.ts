import { AgentError } from '../error/agent-error.ts';
import { onAbort } from './abort.ts';
import { monotonicNow } from './monotonic.ts';
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
  /** Ends the wait that runs now. */
  #reject: ((reason: unknown) => void) | undefined;
  readonly #stopListening: () => void;
  /** When the wait that runs now is too long, and its time limit. */
  #endsAt = Infinity;
  #limitMs!: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesAt = Infinity;
  /** Time in `listen` since the last call of `reset`, in milliseconds. */
  #silentMs = 0;

  /**
   * `timeoutMs`: longest wait. Default: 5 minutes. `toError` returns the error for a wait that
   * takes longer.
   */
  constructor(
    callerSignal: AbortSignal,
    timeoutMs: number = 300_000,
    toError: (timeoutMs: number) => AgentError = modelTimeoutError,
  ) {
    this.#timeoutMs = timeoutMs;
    this.#toError = toError;
    this.#stopListening = onAbort(callerSignal, () =>
      this.#stop(AgentError.from(callerSignal.reason, 'ABORTED')),
    );
  }

  /**
   * Returns the value of `work`, or rejects with the reason of `signal`. Only one wait at a time is
   * allowed. `spentMs`: part of `timeoutMs` that has passed already.
   */
  wait<T>(work: () => Promise<T>, timeoutMs: number = this.#timeoutMs, spentMs = 0): Promise<T> {
    return new Promise((resolve, reject) => {
      this.signal.throwIfAborted();
      this.#reject = reject;
      this.#endsAt = monotonicNow() + timeoutMs - spentMs;
      this.#limitMs = timeoutMs;
      if (this.#endsAt < this.#firesAt) this.#start();
      const end = (): void => {
        this.#endsAt = Infinity;
      };
      const value = work();
      value.then(end, end);
      value.then(resolve, reject);
    });
  }

  /** Works like `wait`, but all waits since the last call of `reset` share one time limit. */
  async listen<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = monotonicNow();
    try {
      return await this.wait(work, this.#timeoutMs, this.#silentMs);
    } finally {
      this.#silentMs += monotonicNow() - startedAt;
    }
  }

  /** Begins the time limit of `listen` again, because the server sent content. */
  reset(): void {
    this.#silentMs = 0;
  }

  /** Removes the timer, and the listener on the caller's signal. */
  end(): void {
    clearTimeout(this.#timer);
    this.#stopListening();
  }

  /**
   * Starts the timer. It keeps running after the wait, because most waits of a reply have the same
   * time limit. A new timer for each network read would be slow, above all in Cloudflare Workers.
   */
  #start(now: number = monotonicNow()): void {
    clearTimeout(this.#timer);
    const ms = timerMs(this.#endsAt - now);
    this.#firesAt = now + ms;
    this.#timer = setTimeout(() => {
      // A timer may fire before its time by the clock, and mock timers do not move the clock.
      const firedAt = Math.max(this.#firesAt, monotonicNow());
      // A timer that is this late fires before the event loop has read the network.
      const hasSlept = firedAt - this.#firesAt > lateMs;
      if (hasSlept) this.#endsAt = Math.max(this.#endsAt, firedAt + graceMs);
      if (this.#endsAt > firedAt) this.#start(firedAt);
      else this.#stop(this.#toError(this.#limitMs));
    }, ms);
  }

  #stop(reason: AgentError): void {
    this.#controller.abort(reason);
    this.#reject?.(reason);
  }
}

/** How late a timer is if the machine slept or the process was blocked, in milliseconds. */
const lateMs = 1_000;

/** Time that a wait gets after that, in milliseconds. */
const graceMs = 5_000;

function modelTimeoutError(timeoutMs: number): AgentError {
  return new AgentError('MODEL_TIMEOUT', `The model server sent no content for ${timeoutMs} ms`, {
    retryable: true,
  });
}
