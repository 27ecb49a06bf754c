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
  #left: number;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of waits whose time does not count. */
  #untimed = 0;

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

  /** Sets no limit any more. Waits may go on after the end of a run. */
  end(): void {
    this.stop();
    this.#left = Infinity;
  }

  /** Returns the value of `work`, whose time does not count. */
  async untimed<T>(work: () => Promise<T>): Promise<T> {
    this.#untimed += 1;
    if (this.#untimed === 1) this.stop();
    try {
      return await work();
    } finally {
      this.#untimed -= 1;
      if (this.#untimed === 0) this.start();
    }
  }
}
