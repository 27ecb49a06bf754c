import type { Flushes, LogRecord } from './log-record.ts';
import type { SessionFold } from './session-fold.ts';

/** All records of a log, as a read has found them. */
export interface LogContent {
  /** The records in the store. */
  readonly stored: Flushes;
  /** The records that the next flush writes. */
  readonly pending: readonly LogRecord[];
  /**
   * Whether the store no longer has the log of the read before. A person, another writer or the
   * store has deleted it. Absent if the log can't know that.
   */
  readonly wasDeleted?: boolean;
}

/** Functions of the caller that a flush uses. */
export interface FlushContext {
  /**
   * Receives all records after the flush had to read the log again, because another writer has
   * written.
   */
  onReread(content: LogContent): void;
  /** Returns the state of the session after the pending records, if the log was read. */
  fold(): SessionFold | undefined;
}

/**
 * The log of a session: what `SessionMemory` needs of each. A `StoredLog` also has an owner, and it
 * notices other writers.
 */
export interface Log {
  /** Number of flushes so far. 0 before the first read. */
  readonly version: number;
  /** Adds records that the next flush writes. */
  add(records: readonly LogRecord[]): void;
  /** Returns all records. */
  load(): Promise<LogContent>;
  /** Writes the pending records. */
  flush(context: FlushContext): Promise<void>;
  /** Drops all pending records. Use it for the records of a run whose session was deleted. */
  drop(): void;
  /** Deletes every key of the session. */
  clear(): Promise<void>;
}
