import { SessionMemory } from '@isoloop/core';
import { adoptRecords } from '@isoloop/core/move';
import { type LogRecord, recordsOf } from '@isoloop/core/log';
import { checkId } from '@isoloop/core/options';
import { IndexedDbSessions, IndexedDbStore } from '@isoloop/web-worker';
import type { ForkDraft } from '../steps/fork-draft.ts';
import type { InspectorSession, InspectorSource } from './inspector-source.ts';

/** The logs of an agent's conversations in IndexedDB. */
export interface StoredLogs extends Pick<InspectorSource, 'sessions' | 'records'> {
  /** Stores a new conversation and returns its id. */
  create(draft: ForkDraft): Promise<string>;
}

/** Opens the logs. `agentName`: `undefined` if its worker exposes one agent. */
export function storedLogs(
  agentName: string | undefined,
  database: string | undefined,
): StoredLogs {
  const prefix = agentName === undefined ? '' : `${agentName}/`;
  const store = new IndexedDbStore(database === undefined ? {} : { database });
  const sessions = new IndexedDbSessions({ store });
  return {
    async sessions(): Promise<readonly InspectorSession[]> {
      const list = await sessions.list({ startsWith: prefix });
      return list
        .map(({ sessionId, title, updatedAt }) => ({
          sessionId: sessionId.slice(prefix.length),
          title,
          updatedAt,
        }))
        .toSorted((one, other) => other.updatedAt - one.updatedAt);
    },
    async records(sessionId): Promise<readonly LogRecord[]> {
      // With the agent's name before it, a blank id would name a session.
      checkId(sessionId, 'session id');
      const flushes = await new SessionMemory(store, prefix + sessionId).flushes();
      return [...flushes.values()].flat();
    },
    async create({ messages }) {
      const sessionId = crypto.randomUUID();
      await adoptRecords(new SessionMemory(store, prefix + sessionId), recordsOf(messages));
      return sessionId;
    },
  };
}
