import type { Msg } from '../../message/msg.ts';

/** One remembered fact or turn. */
export interface LongTermRecord {
  /** The id that `delete` takes. */
  readonly id: string;
  /** The text that the model sees. */
  readonly text: string;
  /** The session that the record comes from. */
  readonly sessionId: string;
  /** The time of recording: ISO 8601, UTC. */
  readonly createdAt: string;
  /** How well the record matches the query: higher is better. Comparable within one answer only. */
  readonly score?: number;
}

export interface LongTermRetrieveOptions {
  /** Maximum number of records to return; default 5. */
  readonly limit?: number;
  /** Returns only records of this session. */
  readonly sessionId?: string;
  /** Returns no records of this session. */
  readonly exceptSessionId?: string;
  readonly signal?: AbortSignal;
}

export interface LongTermRecordOptions {
  /** The session that the messages come from; `deleteSession` finds them by it. */
  readonly sessionId: string;
  readonly signal?: AbortSignal;
}

/**
 * Memory that outlives a conversation: facts and turns, found again by the topic of a new question
 * (AgentScope: `LongTermMemory`).
 */
export interface LongTermMemory {
  /** Returns the records that match the query, best first; an empty array if none does. */
  retrieve(query: string, options?: LongTermRetrieveOptions): Promise<readonly LongTermRecord[]>;
  /**
   * Keeps the memorable part of messages that belong together. They are one turn, or facts that the
   * model wants remembered.
   */
  record(messages: readonly Msg[], options: LongTermRecordOptions): Promise<void>;
  /** Deletes records; ignores unknown ids. */
  delete(ids: readonly string[]): Promise<void>;
  /** Deletes all records of one session. Call it when you delete a session. */
  deleteSession(sessionId: string): Promise<void>;
  clear(): Promise<void>;
}
