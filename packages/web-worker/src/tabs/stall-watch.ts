import { nextMacrotask } from '../wire/macrotask.ts';

interface StallWatchOptions {
  /** Maximum time without an answer from the leader, in milliseconds. */
  readonly afterMs: number;
  /** Returns whether a request waits for the leader. */
  readonly isNeeded: () => boolean;
  /** Sends the leader a message that it has to answer. */
  readonly ping: () => void;
  /** Called when the leader has not answered in time. */
  readonly onStalled: () => void;
}

/**
 * Detects that the leader does not answer while a request waits. The leader is the tab whose worker
 * has the agent.
 */
export class StallWatch {
  readonly #options: StallWatchOptions;
  #silence = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: StallWatchOptions) {
    this.#options = options;
  }

  /** Records a message from the leader. */
  reset(): void {
    this.#silence = 0;
  }

  /** Starts the timer if needed. Call it when a request begins to wait. */
  check(): void {
    const { afterMs, isNeeded, ping } = this.#options;
    if (this.#timer !== undefined || !isNeeded()) return;
    // Uses two timers of half the time. After the machine slept, a timer fires at once, before the
    // leader's answer can arrive.
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!isNeeded()) return this.reset();
      this.#silence += 1;
      if (this.#silence >= 2) return void this.#decide();
      ping();
      this.check();
    }, afterMs / 2);
  }

  async #decide(): Promise<void> {
    const { onStalled } = this.#options;
    // If this worker itself was blocked, the leader's answer has arrived but was not handled yet.
    await nextMacrotask();
    if (this.#silence < 2) return this.check();
    this.reset();
    onStalled();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
