/** Stored conversation. Times are in milliseconds since 1970. */
export interface AgentSessionEntry {
  readonly sessionId: string;
  readonly title?: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Stored conversations of a worker or an endpoint. */
export interface StoredSessions {
  list(): Promise<readonly AgentSessionEntry[]>;
  rename(sessionId: string, title: string): Promise<unknown>;
  delete(sessionId: string): Promise<unknown>;
  /** Returns a conversation as JSON. In the hook, `undefined` after a failure. */
  export(sessionId: string): Promise<object | undefined>;
}

/** What `useAgentChat` returns as `sessions`. */
export interface AgentSessions extends Pick<StoredSessions, 'export'> {
  rename(sessionId: string, title: string): Promise<void>;
  delete(sessionId: string): Promise<void>;
  /** Id of the open conversation. */
  readonly current: string;
  /**
   * Conversations, the most recently changed first. `undefined` while they load, and without the
   * option `listSessions`.
   */
  readonly list: readonly AgentSessionEntry[] | undefined;
  /** Shows another conversation. Without an id, begins a new one. */
  open(sessionId?: string): void;
}
