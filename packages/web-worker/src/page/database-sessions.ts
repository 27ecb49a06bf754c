import type { StoredSessions } from '@isoloop/core/host';
import { storedIdOf } from '../store/deletions.ts';
import { IndexedDbSessions } from '../store/indexed-db-sessions.ts';

/** Returns the conversations of an agent in IndexedDB, without those that have moved elsewhere. */
export function databaseSessions(agentName: string | undefined): StoredSessions {
  const prefix = storedIdOf(agentName, '');
  const sessions = new IndexedDbSessions();
  return {
    async list() {
      const entries = await sessions.list({ startsWith: prefix });
      return entries
        .filter(({ movedTo }) => !movedTo)
        .map((entry) => ({ ...entry, sessionId: entry.sessionId.slice(prefix.length) }))
        .toSorted((one, other) => other.updatedAt - one.updatedAt);
    },
    rename: (sessionId, title) => sessions.rename(prefix + sessionId, title),
    delete: (sessionId) => sessions.delete(prefix + sessionId),
    export: (sessionId) => sessions.export(prefix + sessionId),
  };
}
