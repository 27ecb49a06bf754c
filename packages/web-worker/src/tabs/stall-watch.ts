import { nextMacrotask } from '../wire/macrotask.ts';

export interface StallWatchOptions {
  readonly afterMs: number;
  /** Whether a request waits for the leader. */
  readonly isNeeded: () => boolean;
  /** Asks the leader to answer. */
  readonly ask: () => void;
  readonly onStalled: () => void;
}

/** Reports a leader that does not answer while a request waits for it. */
export class StallWatch {
  readonly #options: StallWatchOptions;
  #silence = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: StallWatchOptions) {
    this.#options = options;
  }

  /** Records an answer of the leader. */
  heard(): void {
    this.#silence = 0;
  }

  /** Starts the timer if needed. Call it when a request begins to wait. */
  check(): void {
    const { afterMs, isNeeded, ask } = this.#options;
    if (this.#timer !== undefined || !isNeeded()) return;
    // Two halves: after the machine sleeps, one timer fires late, and the answer may still be on
    // its way.
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!isNeeded()) return this.heard();
      this.#silence += 1;
      if (this.#silence >= 2) return void this.#decide();
      ask();
      this.check();
    }, afterMs / 2);
  }

  async #decide(): Promise<void> {
    const { onStalled } = this.#options;
    // If this worker was the slow one, the answer has arrived and waits to be read.
    await nextMacrotask();
    if (this.#silence < 2) return this.check();
    this.heard();
    onStalled();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
