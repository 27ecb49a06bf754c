import { nextMacrotask } from '../wire/macrotask.ts';

export interface StallWatchOptions {
  readonly afterMs: number;
  /** Whether anything waits for a sign of life. */
  readonly isNeeded: () => boolean;
  /** Asks for one. */
  readonly ask: () => void;
  readonly onStalled: () => void;
}

/** Tells of a leader that gives no sign of life while something is asked of it. */
export class StallWatch {
  readonly #options: StallWatchOptions;
  #silence = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: StallWatchOptions) {
    this.#options = options;
  }

  /** There was a sign of life. */
  heard(): void {
    this.#silence = 0;
  }

  /** To be called when something begins to wait. */
  check(): void {
    const { afterMs, isNeeded, ask } = this.#options;
    if (this.#timer !== undefined || !isNeeded()) return;
    // In halves: after a sleep of the machine one tick is late, and the answer may still be on its
    // way.
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
    // If this worker is what was slow, the sign of life has arrived and only waits to be read.
    await nextMacrotask();
    if (this.#silence < 2) return this.check();
    this.heard();
    onStalled();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
