import { AgentError } from '../error/agent-error.ts';
import { timerMs } from './timer.ts';

export interface CallTimeoutOptions {
  /** 0 sets no limit. */
  readonly timeoutMs: number;
  /** Clock, in milliseconds. */
  readonly now: () => number;
  /** Gets the error `CALL_TIMEOUT` when the time is over. */
  readonly onTimeout: (error: AgentError) => void;
}

/** Time limit of an agent call. `stop` pauses it, and `start` continues it. */
export class CallTimeout {
  readonly #options: CallTimeoutOptions;
  #remainingMs: number;
  #startedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of waits whose time does not count. */
  #untimedCount = 0;

  constructor(options: CallTimeoutOptions) {
    this.#options = options;
    this.#remainingMs = options.timeoutMs || Infinity;
  }

  start(): void {
    if (this.#remainingMs === Infinity) return;
    const { timeoutMs, now, onTimeout } = this.#options;
    this.#startedAt = now();
    this.#timer = setTimeout(() => {
      const message = `The call took longer than ${timeoutMs} ms`;
      onTimeout(new AgentError('CALL_TIMEOUT', message, { retryable: true }));
    }, timerMs(this.#remainingMs));
  }

  stop(): void {
    if (this.#remainingMs === Infinity) return;
    clearTimeout(this.#timer);
    this.#remainingMs = Math.max(0, this.#remainingMs - (this.#options.now() - this.#startedAt));
  }

  /** Sets no limit any more. Waits may go on after the end of a run. */
  end(): void {
    this.stop();
    this.#remainingMs = Infinity;
  }

  /** Returns the value of `work`, whose time does not count. */
  async untimed<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#untimedCount) this.stop();
    this.#untimedCount += 1;
    try {
      return await work();
    } finally {
      this.#untimedCount -= 1;
      if (!this.#untimedCount) this.start();
    }
  }
}
