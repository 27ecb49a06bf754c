import type { LogRecord } from '../log-record.ts';
import { newStartOf } from '../lost-start.ts';

/** A write of a batch whose outcome is unknown. */
interface UnsureWrite {
  readonly ref: string;
  /** Number of pending records in the batch. */
  readonly count: number;
  /** Text of the head that the write replaces. */
  readonly expected: string | undefined;
}

/** The records of a log that are not known to be in the store. */
export class PendingRecords {
  #records: LogRecord[] = [];
  /**
   * Writes since the last success. A refused write counts too: the store may have repeated a
   * request that had taken effect, and may have answered the repetition.
   */
  #unsureWrites: readonly UnsureWrite[] = [];

  /** Returns a copy of the records. */
  list(): readonly LogRecord[] {
    return [...this.#records];
  }

  get isEmpty(): boolean {
    return this.#records.length === 0;
  }

  /** Names of the batches of these records that may be in the store. */
  get unsureRefs(): readonly string[] {
    return this.#unsureWrites.map(({ ref }) => ref);
  }

  add(records: readonly LogRecord[]): void {
    this.#records.push(...records);
  }

  /** Notes that the batch `ref` has all of these records, and that its write begins. */
  beginWrite(ref: string, expected: string | undefined): void {
    this.#unsureWrites = [...this.#unsureWrites, { ref, count: this.#records.length, expected }];
  }

  /**
   * Removes the records of a write that took effect, whatever the store answered. Returns the
   * batches of the writes that can't take effect any more, because the head has changed. While the
   * head is unchanged, a write may still take effect. `isStored`: returns whether the log names the
   * batch.
   */
  settle(headText: string | undefined, isStored: (ref: string) => boolean): readonly string[] {
    const storedWrite = this.#unsureWrites.findLast(({ ref }) => isStored(ref));
    const isEnded = ({ expected }: UnsureWrite): boolean =>
      storedWrite !== undefined || expected !== headText;
    const endedRefs = this.#unsureWrites.filter(isEnded).map(({ ref }) => ref);
    this.#unsureWrites = this.#unsureWrites.filter((write) => !isEnded(write));
    this.#records.splice(0, storedWrite?.count ?? 0);
    return endedRefs.filter((ref) => !isStored(ref));
  }

  /** Forgets which writes are unsure. Returns the names of their batches. */
  forgetWrites(): readonly string[] {
    const refs = this.unsureRefs;
    this.#unsureWrites = [];
    return refs;
  }

  /** Drops the records that a new log can't have, because the log was deleted. */
  keepNewStart(): void {
    this.#records = [...newStartOf(this.#records)];
  }

  drop(): void {
    this.#records = [];
    this.#unsureWrites = [];
  }
}
