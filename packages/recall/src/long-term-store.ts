import type { Msg } from '@isoloop/core';

/** One record of a long-term memory: a fact, or the messages of a turn. */
export interface LongTermRecord {
  /** Id of the record, for `delete`. */
  readonly id: string;
  /** Text of the record, which the model gets. */
  readonly text: string;
  /** Session whose messages the record contains. */
  readonly sessionId: string;
  /** Time at which the record was stored, as an ISO 8601 text in UTC. */
  readonly createdAt: string;
  /**
   * How well the record matches the query; higher is better. Scores of two queries cannot be
   * compared.
   */
  readonly score?: number;
}

/** Which records of a long-term memory to return, and how many. */
export interface LongTermRetrieveOptions {
  /** Maximum number of records to return. Default: 5. */
  readonly limit?: number;
  /** Returns only records of this session. */
  readonly sessionId?: string;
  /** Returns no records of this session. */
  readonly exceptSessionId?: string;
  readonly signal?: AbortSignal;
}

/** Session to which new records of a long-term memory belong. */
export interface LongTermRecordOptions {
  /** Session whose messages are recorded. `deleteSession` deletes the records of a session. */
  readonly sessionId: string;
  readonly signal?: AbortSignal;
}

/**
 * Memory that outlives a conversation. It stores facts and turns, and finds them when a new
 * question has the same topic. Source: AgentScope, `LongTermMemory`.
 */
export interface LongTermMemory {
  /**
   * Returns the records that match the query, best first. Returns an empty array if no record
   * matches.
   */
  retrieve(query: string, options?: LongTermRetrieveOptions): Promise<readonly LongTermRecord[]>;
  /**
   * Stores what is worth remembering in messages that belong together. The messages are one turn,
   * or one fact that the model wants to remember.
   */
  record(messages: readonly Msg[], options: LongTermRecordOptions): Promise<void>;
  /** Deletes records. Ignores unknown ids. */
  delete(ids: readonly string[]): Promise<void>;
  /** Deletes all records of one session. Call `deleteSession` when you delete a session. */
  deleteSession(sessionId: string): Promise<void>;
  clear(): Promise<void>;
}
