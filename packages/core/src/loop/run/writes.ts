import type { RunSetup } from './run-setup.ts';
import type { Waits } from './waits.ts';

/** The writes of one run. */
export class Writes {
  readonly #waits: Waits;
  readonly #unwritten: Set<Promise<unknown>>;

  /** `unwritten`: the agent's writes whose end no run has seen. */
  constructor(waits: Waits, unwritten: Set<Promise<unknown>>) {
    this.#waits = waits;
    this.#unwritten = unwritten;
  }

  /**
   * Waits for a write, then calls `done`. If the run was aborted and the store hangs, calls it too,
   * and rejects with the signal's reason. The write goes on, and the agent's next call waits for it.
   */
  async wait(work: Promise<unknown> | undefined, done?: () => void): Promise<void> {
    if (!work) return;
    const isWritten = await this.#waits.store(work);
    if (!isWritten) this.#keep(work);
    done?.();
    if (!isWritten) this.#waits.endUnlessLenient();
  }

  /**
   * Updates the agent's state from the log, behind all writes. The memory hears of it at once,
   * because a write may wait for a read that an earlier run left behind.
   */
  async restore({ memory, status, tools }: RunSetup, signal: AbortSignal): Promise<void> {
    await Promise.all([
      memory.restore?.(status, tools, signal),
      Promise.allSettled(this.#unwritten),
    ]);
  }

  #keep(work: Promise<unknown>): void {
    const end = (): void => void this.#unwritten.delete(work);
    this.#unwritten.add(work);
    work.then(end, end);
  }
}
