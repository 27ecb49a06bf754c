import * as vitest from 'vitest';
import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { keyValueStoreConformance, ScriptedModel } from '@isoloop/core/testing';
// #region own-store
import { AgentError, ReActAgent, SessionMemory, type KeyValueStore } from '@isoloop/core';

type Query = (sql: string, values: readonly string[]) => Promise<readonly Row[]>;
type Row = { readonly key: string; readonly value: string };

/** A store in the table `chats (key text primary key, value text not null)`. */
export function sqlStore(query: Query): KeyValueStore {
  const run: Query = (sql, values) =>
    query(sql, values).catch((cause: unknown) => {
      throw new AgentError('STORAGE_FAILED', 'The database failed.', { cause });
    });
  const list = (keys: readonly string[]) => keys.map((_, i) => `?${i + 1}`).join();
  const upsert = 'ON CONFLICT (key) DO UPDATE SET value = excluded.value';
  return {
    features: { atomic: true, compareAndSet: true, maxValueBytes: 64 * 1024 ** 2 },
    async get(key) {
      const [row] = await run('SELECT * FROM chats WHERE key = ?1', [key]);
      return row?.value;
    },
    async getMany(keys) {
      if (keys.length === 0) return new Map();
      const rows = await run(`SELECT * FROM chats WHERE key IN (${list(keys)})`, keys);
      return new Map(rows.map(({ key, value }) => [key, value]));
    },
    async set(key, value) {
      await run(`INSERT INTO chats (key, value) VALUES (?1, ?2) ${upsert}`, [key, value]);
    },
    async setMany(entries) {
      const last = [...new Map(entries)]; // a statement may write a key only once
      if (last.length === 0) return;
      const rows = last.map((_, i) => `(?${2 * i + 1}, ?${2 * i + 2})`).join();
      await run(`INSERT INTO chats (key, value) VALUES ${rows} ${upsert}`, last.flat());
    },
    async delete(keys) {
      if (keys.length > 0) await run(`DELETE FROM chats WHERE key IN (${list(keys)})`, keys);
    },
    async keys(prefix) {
      const starts = 'substr(key, 1, length(?1)) = ?1';
      const rows = await run(`SELECT key, '' AS value FROM chats WHERE ${starts}`, [prefix]);
      return rows.map(({ key }) => key).toSorted();
    },
    async compareAndSet(key, expected, value) {
      const written =
        expected === undefined
          ? await run(
              `INSERT INTO chats (key, value) VALUES (?1, ?2)
               ON CONFLICT (key) DO NOTHING RETURNING *`,
              [key, value],
            )
          : await run('UPDATE chats SET value = ?3 WHERE key = ?1 AND value = ?2 RETURNING *', [
              key,
              expected,
              value,
            ]);
      return written.length === 1;
    },
  };
}
// #endregion
// #region own-store-agent
// #endregion

// #region own-store-sqlite
import { DatabaseSync } from 'node:sqlite';

/** The database may be a file, such as `chats.db`. */
export function openSqlite(file: string): KeyValueStore {
  const database = new DatabaseSync(file);
  database.exec('CREATE TABLE IF NOT EXISTS chats (key text primary key, value text not null)');
  return sqlStore(async (sql, values) => {
    return database.prepare(sql).all(...values) as unknown as readonly Row[];
  });
}
// #endregion

keyValueStoreConformance(vitest, 'sqlStore', () => openSqlite(':memory:'));

test('two agents share a conversation in an SQL database', async () => {
  const model = new ScriptedModel(['Hello Ann.', 'You are Ann.']);

  // #region own-store-agent
  const store = openSqlite(':memory:');
  const open = (): ReActAgent =>
    new ReActAgent({ name: 'assistant', model, memory: new SessionMemory(store, 'notes') });
  await open().call('I am Ann.');
  const { text } = await open().call('Who am I?');
  // #endregion

  expect(text).toBe('You are Ann.');
});

test('a failing database is reported with a code', async () => {
  const store = sqlStore(async () => Promise.reject(new Error('down')));
  await expect(store.get('a')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
});
