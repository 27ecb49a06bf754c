/** A write of a batch whose outcome is unknown. */
export interface UnsureWrite {
  readonly ref: string;
  /** Number of pending records in the batch. */
  readonly records: number;
  /** Text of the head that the write replaces. */
  readonly expected: string | undefined;
}

export interface SettledWrites {
  /** Number of pending records that are stored. */
  readonly records: number;
  /** Names of batches that no head will ever name. */
  readonly gone: readonly string[];
}

/**
 * Writes of a log since its last success. A refused write counts too: the store may have repeated a
 * request that had taken effect, and may have answered the repetition.
 */
export class UnsureWrites {
  #writes: readonly UnsureWrite[] = [];

  get refs(): readonly string[] {
    return this.#writes.map(({ ref }) => ref);
  }

  add(write: UnsureWrite): void {
    this.#writes = [...this.#writes, write];
  }

  clear(): void {
    this.#writes = [];
  }

  /**
   * Returns what is known about the writes when the head has this text. While the head is unchanged,
   * a write may still take effect, so it stays unsure. `isStored`: returns whether the log names the
   * batch.
   */
  settle(text: string | undefined, isStored: (ref: string) => boolean): SettledWrites {
    const stored = this.#writes.findLast(({ ref }) => isStored(ref));
    const over = this.#writes.filter(({ expected }) => stored || expected !== text);
    this.#writes = this.#writes.filter((write) => !over.includes(write));
    const gone = over.flatMap(({ ref }) => (isStored(ref) ? [] : [ref]));
    return { records: stored?.records ?? 0, gone };
  }
}
