import type { Msg } from '../../message/msg.ts';

/** One thing that is remembered. */
export interface LongTermRecord {
  /** For `delete`. */
  readonly id: string;
  /** What the model is shown. */
  readonly text: string;
  /** Where it comes from. */
  readonly sessionId: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  /** How well it fits the query: higher is better, comparable within one answer only. */
  readonly score?: number;
}

export interface LongTermRetrieveOptions {
  /** Records at most; default 5. */
  readonly limit?: number;
  /** Only what comes from this session. */
  readonly sessionId?: string;
  /** Nothing that comes from this session. */
  readonly exceptSessionId?: string;
  readonly signal?: AbortSignal;
}

export interface LongTermRecordOptions {
  /** Where the messages come from: what `deleteSession` finds them by. */
  readonly sessionId: string;
  readonly signal?: AbortSignal;
}

/**
 * What outlives a conversation: facts and turns, found again by what a new question is about
 * (AgentScope: `LongTermMemory`).
 */
export interface LongTermMemory {
  /** What fits the query, the best first; an empty array where nothing does. */
  retrieve(query: string, options?: LongTermRetrieveOptions): Promise<readonly LongTermRecord[]>;
  /**
   * Keeps what is worth it of messages that belong together: one turn, or what the model wants to
   * be remembered.
   */
  record(messages: readonly Msg[], options: LongTermRecordOptions): Promise<void>;
  /** Unknown ids are ignored. */
  delete(ids: readonly string[]): Promise<void>;
  /** All that comes from one session. To be called where a session is deleted. */
  deleteSession(sessionId: string): Promise<void>;
  clear(): Promise<void>;
}
