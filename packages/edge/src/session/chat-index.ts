import { listSessions, type KeyValueStore } from '@isoloop/core';

/** Entry of a conversation in the list. Times are in milliseconds since 1970. */
export interface ChatInfo {
  readonly sessionId: string;
  readonly title?: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ChatListOptions {
  /**
   * Maximum number of conversations on one page. A page has more if several conversations have the
   * same time as the last one, because the next page begins before that time.
   */
  readonly limit: number;
  /**
   * Time in milliseconds since 1970. The page has only conversations that were last changed before
   * this time. Default: all conversations.
   */
  readonly before?: number | undefined;
}

/**
 * List of one user's conversations, in the database of its own Durable Object. The object of each
 * conversation sends its changes to this object.
 */
export class ChatIndex {
  readonly #storage: DurableObjectStorage;
  #isMade = false;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Returns the conversations, the most recently changed first. */
  list({ limit, before = 9e15 }: ChatListOptions): readonly ChatInfo[] {
    if (!this.#exists) return [];
    const last = `SELECT updated_at FROM isoloop_sessions WHERE updated_at < ?1
      ORDER BY updated_at DESC LIMIT 1 OFFSET ?2 - 1`;
    const query = `SELECT * FROM isoloop_sessions
      WHERE updated_at < ?1 AND updated_at >= IFNULL((${last}), 0)
      ORDER BY updated_at DESC, session_id`;
    return [...this.#storage.sql.exec<Row>(query, before, limit)].map(
      ({ session_id, title, created_at, updated_at }) => ({
        sessionId: session_id,
        title: title ?? undefined,
        createdAt: created_at,
        updatedAt: updated_at,
      }),
    );
  }

  put({ sessionId, title, createdAt, updatedAt }: ChatInfo): void {
    const { sql } = this.#storage;
    // The first write creates the table, so that objects of sessions do not get a table for the
    // list. It has no index by time: a written row costs as much as 1000 read ones.
    if (!this.#isMade) {
      const columns = `session_id TEXT PRIMARY KEY, title TEXT,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL`;
      sql.exec(`CREATE TABLE IF NOT EXISTS isoloop_sessions (${columns}) WITHOUT ROWID`);
    }
    this.#isMade = true;
    const changes = 'title = excluded.title, updated_at = excluded.updated_at';
    sql.exec(
      `INSERT INTO isoloop_sessions VALUES (?, ?, ?, ?)
        ON CONFLICT (session_id) DO UPDATE SET ${changes}
        WHERE title IS NOT excluded.title OR updated_at <> excluded.updated_at`,
      sessionId,
      title ?? null,
      createdAt,
      updatedAt,
    );
  }

  remove(sessionId: string): void {
    if (!this.#exists) return;
    this.#storage.sql.exec('DELETE FROM isoloop_sessions WHERE session_id = ?', sessionId);
  }

  get #exists(): boolean {
    return (
      [...this.#storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'isoloop_sessions'")]
        .length > 0
    );
  }
}

interface Row extends Record<string, SqlStorageValue> {
  readonly session_id: string;
  readonly title: string | null;
  readonly created_at: number;
  readonly updated_at: number;
}

/**
 * Returns a user's conversations in a store, the most recently changed first, without those that
 * have moved to another place.
 */
export async function chatsIn(store: KeyValueStore, user: string): Promise<readonly ChatInfo[]> {
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
export function pageOf(
  chats: readonly ChatInfo[],
  { limit, before = Infinity }: ChatListOptions,
): readonly ChatInfo[] {
  const rest = chats.filter(({ updatedAt }) => updatedAt < before);
  const last = rest[limit - 1]?.updatedAt ?? 0;
  return rest.filter(({ updatedAt }) => updatedAt >= last);
}
