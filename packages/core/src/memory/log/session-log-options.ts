import type { AgentError } from '../../error/agent-error.ts';
import type { ContentionOptions } from '../contention.ts';
import type { Flushes, LogRecord } from './format/log-record.ts';

export interface SessionLogOptions extends ContentionOptions {
  readonly generateId: () => string;
  readonly now: () => number;
  /** Number of batches from which a log is compacted, at the first flush after a read. */
  readonly compactAfter: number;
  /**
   * Receives the error of each batch that can't be read. The log then leaves out this batch.
   * Without `onDamage`, reading such a log rejects.
   */
  readonly onDamage?: ((error: AgentError) => void) | undefined;
  /** See `SessionMemoryOptions`. */
  readonly onWarning?: ((warning: AgentError) => void) | undefined;
}

/** Functions of the caller that a flush uses. */
export interface FlushContext {
  /**
   * Receives all records after the flush had to read the log again, because another writer has
   * written.
   */
  onReread(records: Flushes): void;
  /**
   * Returns the shortest list of records that describes the session. Returns `undefined` if some
   * records can't be read.
   */
  compacted(): readonly LogRecord[] | undefined;
  title(): string | undefined;
}
