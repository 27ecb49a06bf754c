import { AgentError } from '../error/agent-error.ts';
import { timerMs } from './timer.ts';

interface CallTimeoutOptions {
  /** 0 sets no limit. */
  readonly timeoutMs: number;
  /** Clock for durations, in milliseconds. */
  readonly now: () => number;
  /** Gets the error `CALL_TIMEOUT` when the time is over. */
  readonly onTimeout: (error: AgentError) => void;
}

/** Time limit of an agent call. The time counts while no pause is open. */
export class CallTimeout {
  readonly #options: CallTimeoutOptions;
  #remainingMs: number;
  #resumedAt: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of pauses. The first one is before the turn of the agent call. */
  #pauses = 1;

  constructor(options: CallTimeoutOptions) {
    this.#options = options;
    this.#remainingMs = options.timeoutMs;
  }

  /** Ends one pause. */
  resume(): void {
    const { timeoutMs, now, onTimeout } = this.#options;
    this.#pauses -= 1;
    if (this.#pauses || !timeoutMs) return;
    this.#resumedAt = now();
    this.#timer = setTimeout(() => {
      const message = `The call took longer than ${timeoutMs} ms`;
      onTimeout(new AgentError('CALL_TIMEOUT', message, { retryable: true }));
    }, timerMs(this.#remainingMs));
  }

  pause(): void {
    this.#pauses += 1;
    if (this.#pauses > 1) return;
    clearTimeout(this.#timer);
    this.#remainingMs -= this.#options.now() - this.#resumedAt!;
  }

  /** Returns the value of `work`, whose time does not count. */
  async untimed<T>(work: () => Promise<T>): Promise<T> {
    this.pause();
    try {
      return await work();
    } finally {
      this.resume();
    }
  }
}
