import { listSessions, type KeyValueStore } from '@isoloop/core';
import type { ChatInfo, ChatListOptions } from './chat-index.ts';

/** Returns a user's conversations in a store, the most recently changed first. */
export async function chatsIn(store: KeyValueStore, user: string): Promise<readonly ChatInfo[]> {
  const prefix = `${user}/`;
  return (
    (await listSessions(store, { startsWith: prefix }))
      .map(({ version: _version, sessionId, ...entry }) => ({
        sessionId: sessionId.slice(prefix.length),
        ...entry,
      }))
      // Another user's id may begin with this user's id and a slash. A session id has no slash.
      .filter(({ sessionId }) => !sessionId.includes('/'))
      .toSorted((one, other) => other.updatedAt - one.updatedAt)
  );
}

/** Returns a page of sorted conversations. */
export function pageOf(
  chats: readonly ChatInfo[],
  { limit, before = Infinity }: ChatListOptions,
): readonly ChatInfo[] {
  const rest = chats.filter(({ updatedAt }) => updatedAt < before);
  const last = rest[limit - 1]?.updatedAt ?? 0;
  return rest.filter(({ updatedAt }) => updatedAt >= last);
}
