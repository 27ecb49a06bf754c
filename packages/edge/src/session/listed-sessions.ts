import { listSessions, type KeyValueStore } from '@isoloop/core';
import type { ListedSession } from '../handler-parts.ts';

/**
 * Returns a user's conversations in a store, the most recently changed first, without those that
 * have moved to another place.
 */
export async function listedSessions(
  store: KeyValueStore,
  user: string,
): Promise<readonly ListedSession[]> {
  const prefix = `${user}/`;
  return (await listSessions(store, { startsWith: prefix }))
    .flatMap(({ version: _version, movedTo, sessionId, ...entry }) => {
      const id = sessionId.slice(prefix.length);
      // Another user's id may begin with this user's id and a slash. A session id has no slash.
      return id.includes('/') || movedTo ? [] : [{ sessionId: id, ...entry }];
    })
    .toSorted((one, other) => other.updatedAt - one.updatedAt);
}
