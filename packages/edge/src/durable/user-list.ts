import { pageOf } from '../session/list-in-store.ts';
import type { ListedSession, SessionListOptions } from '../settings/session-list.ts';

/**
 * List of one user's conversations, in the database of its own Durable Object. The object of each
 * conversation sends its changes to this object.
 */
export class UserList {
  readonly #storage: DurableObjectStorage;
  #hasTable = false;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Returns a page of the conversations, the most recently changed first. */
  page(options: SessionListOptions): readonly ListedSession[] {
    if (!this.#exists) return [];
    const query = `SELECT session_id AS sessionId, title, created_at AS createdAt,
      updated_at AS updatedAt FROM isoloop_sessions ORDER BY updated_at DESC, session_id`;
    const sessions = this.#storage.sql.exec<Row>(query).toArray();
    return pageOf(sessions, options).map(({ title, ...session }) => ({
      ...session,
      title: title ?? undefined,
    }));
  }

  put({ sessionId, title, createdAt, updatedAt }: ListedSession): void {
    const { sql } = this.#storage;
    // The first write creates the table, so that objects of sessions do not get a table for the
    // list. It has no index by time: a written row costs as much as 1000 read ones.
    if (!this.#hasTable) {
      const columns = `session_id TEXT PRIMARY KEY, title TEXT,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL`;
      sql.exec(`CREATE TABLE IF NOT EXISTS isoloop_sessions (${columns}) WITHOUT ROWID`);
    }
    this.#hasTable = true;
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
    const query = "SELECT 1 FROM sqlite_master WHERE name = 'isoloop_sessions'";
    return this.#storage.sql.exec(query).toArray().length > 0;
  }
}

type Row = Record<'createdAt' | 'updatedAt', number> & {
  readonly sessionId: string;
  readonly title: string | null;
};
