import { markHandled } from '../../wait/mark-handled.ts';

/** The promises of a reader's reads that have not settled, in order. */
export class PendingReads {
  readonly #reads: Promise<unknown>[] = [];

  /** Adds a read, and returns it. */
  add<T extends Promise<unknown>>(read: T): T {
    this.#reads.push(read);
    return read;
  }

  /** Removes the oldest read, which gets a batch. */
  settleFirst(): void {
    this.#reads.shift();
  }

  /**
   * Handles the rejections of all reads, because the reader may have left without waiting for them.
   * Called at a failure only: to mark each read at its begin would cost a promise for each batch.
   */
  markHandled(): void {
    this.#reads.forEach((read) => markHandled(read));
  }
}
