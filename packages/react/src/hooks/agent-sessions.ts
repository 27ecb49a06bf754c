import type { AgentSessionEntry, StoredSessions } from '@isoloop/core/host';
import type { AgentChat } from '../conversation/agent-chat.ts';

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

/** Returns the methods that use the stored conversations. Failures become `error` of the hook. */
export function sessionActions(
  conversation: AgentChat,
  current: string,
  open: () => void,
): Pick<AgentSessions, 'rename' | 'delete' | 'export'> {
  const { sessions } = conversation;
  return {
    rename: (other, title) =>
      conversation.attempt(async () => {
        await sessions.use((stored) => stored.rename(other, title));
      }),
    delete: (deleted) =>
      conversation.attempt(async () => {
        if (deleted !== current) {
          await sessions.use((stored) => stored.delete(deleted));
          return;
        }
        await sessions.deleteShown(current);
        open();
      }),
    export: (other) => conversation.attempt(() => sessions.use((stored) => stored.export(other))),
  };
}
