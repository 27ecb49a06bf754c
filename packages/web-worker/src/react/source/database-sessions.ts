import { IndexedDbSessions } from '../../store/indexed-db-sessions.ts';
import type { StoredSessions } from './agent-sessions.ts';

/** Returns the conversations of an agent in IndexedDB, without those that have moved elsewhere. */
export function databaseSessions(agentName: string | undefined): StoredSessions {
  const prefix = agentName === undefined ? '' : `${agentName}/`;
  const stored = new IndexedDbSessions();
  return {
    async list() {
      const all = await stored.list({ startsWith: prefix });
      return all
        .filter(({ movedTo }) => !movedTo)
        .map((entry) => ({ ...entry, sessionId: entry.sessionId.slice(prefix.length) }))
        .toSorted((one, other) => other.updatedAt - one.updatedAt);
    },
    rename: (sessionId, title) => stored.rename(prefix + sessionId, title),
    delete: (sessionId) => stored.delete(prefix + sessionId),
    export: (sessionId) => stored.export(prefix + sessionId),
  };
}
