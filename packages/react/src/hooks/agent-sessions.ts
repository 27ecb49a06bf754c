import type { AgentSessionEntry, StoredSessions } from '@isoloop/core/host';

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
