/**
 * A simulated clock. Only one process (an async function) runs at a time, until it sleeps or ends.
 * When all processes sleep, the clock advances. A schedule therefore always runs in the same order.
 * A process must not start two sleeps at once.
 */
export class VirtualClock {
  /** Milliseconds since 1970. */
  time = Date.UTC(2026, 0, 1);
  readonly #waiting: { readonly at: number; readonly order: number; readonly wake: () => void }[] =
    [];
  #order = 0;
  #pause: () => void = () => {};
  #failure: unknown;

  readonly now = (): number => this.time;

  readonly sleep = (ms: number): Promise<void> => {
    const woken = new Promise<void>(
      (wake) => void this.#waiting.push({ at: this.time + ms, order: this.#order++, wake }),
    );
    this.#pause();
    return woken;
  };

  /** Starts another process at the current time. */
  start(process: () => Promise<void>): void {
    const begin = async (): Promise<void> => {
      try {
        await process();
      } catch (error) {
        this.#failure ??= error;
      }
      this.#pause();
    };
    this.#waiting.push({ at: this.time, order: this.#order++, wake: () => void begin() });
  }

  /** Runs until all processes have ended. Rejects with the first failure. */
  async run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#failure) {
      const next = this.#waiting.reduce((first, each) =>
        each.at < first.at || (each.at === first.at && each.order < first.order) ? each : first,
      );
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.time = next.at;
      await new Promise<void>((resolve) => {
        this.#pause = resolve;
        next.wake();
      });
    }
    if (this.#failure) throw this.#failure;
  }
}
