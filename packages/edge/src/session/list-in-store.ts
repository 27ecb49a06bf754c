import { listSessions, type KeyValueStore } from '@isoloop/core';
import type { ListedSession, SessionListOptions } from '../settings/session-list.ts';

/**
 * Returns a user's conversations in a store, the most recently changed first, without those that
 * have moved to another place.
 */
export async function listInStore(
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

/** Returns a page of sorted conversations. */
export function pageOf<T extends Pick<ListedSession, 'updatedAt'>>(
  sessions: readonly T[],
  { limit, before = Infinity }: SessionListOptions,
): readonly T[] {
  const earlierSessions = sessions.filter(({ updatedAt }) => updatedAt < before);
  const lastUpdatedAt = earlierSessions[limit - 1]?.updatedAt ?? 0;
  return earlierSessions.filter(({ updatedAt }) => updatedAt >= lastUpdatedAt);
}
