import type { RunSetup } from './run-setup.ts';
import type { Waits } from './waits.ts';

/** Writes of one run to the memory. */
export class Writes {
  readonly #waits: Waits;
  readonly #unwritten: Set<Promise<unknown>>;

  /** `unwritten`: writes of earlier runs of the agent that have not ended. */
  constructor(waits: Waits, unwritten: Set<Promise<unknown>>) {
    this.#waits = waits;
    this.#unwritten = unwritten;
  }

  /**
   * Waits for a write, then calls `done`. If the store hangs after an abort, calls `done` without
   * the write and rejects with the signal's reason. The write continues, and the agent's next call
   * waits for it.
   */
  async wait(work: Promise<unknown> | undefined, done?: () => void): Promise<void> {
    if (!work) return;
    const isWritten = await this.#waits.store(work);
    if (!isWritten) this.#keep(work);
    done?.();
    if (!isWritten) this.#waits.endUnlessLenient();
  }

  /**
   * Updates the agent's state from the log, after all earlier writes. Calls `memory.restore` at
   * once, because a write may wait for a read that hangs. `restore` makes the memory read again.
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
