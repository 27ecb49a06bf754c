import { IndexedDbSessions } from '../store/indexed-db-sessions.ts';
import type { SessionStore } from './agent-sessions.ts';

/** Returns the conversations of an agent in IndexedDB. */
export function databaseSessions(agent: string | undefined): SessionStore {
  const prefix = agent === undefined ? '' : `${agent}/`;
  const stored = new IndexedDbSessions();
  return {
    async list() {
      const all = await stored.list({ startsWith: prefix });
      return all
        .map(({ sessionId, ...entry }) => ({ ...entry, id: sessionId.slice(prefix.length) }))
        .toSorted((one, other) => other.updatedAt - one.updatedAt);
    },
    rename: (id, title) => stored.rename(prefix + id, title),
    delete: (id) => stored.delete(prefix + id),
    export: (id) => stored.export(prefix + id),
  };
}
