import { AgentError } from '../error/agent-error.ts';
import { timerMs } from './wait.ts';

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
  #left: number;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: CallTimeoutOptions) {
    this.#options = options;
    this.#left = options.timeoutMs || Infinity;
  }

  start(): void {
    if (this.#left === Infinity) return;
    const { timeoutMs, now, onTimeout } = this.#options;
    this.#since = now();
    this.#timer = setTimeout(() => {
      const message = `The call took longer than ${timeoutMs} ms`;
      onTimeout(new AgentError('CALL_TIMEOUT', message, { retryable: true }));
    }, timerMs(this.#left));
  }

  stop(): void {
    if (this.#left === Infinity) return;
    clearTimeout(this.#timer);
    this.#left = Math.max(0, this.#left - (this.#options.now() - this.#since));
  }

  /** Returns the value of `work`, whose time does not count. */
  async untimed<T>(work: () => Promise<T>): Promise<T> {
    this.stop();
    try {
      return await work();
    } finally {
      this.start();
    }
  }
}
