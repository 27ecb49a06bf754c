import { runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import type { SessionListOptions } from '../settings/session-list.ts';
import { UserList } from './user-list.ts';
import { given } from '../../test-support/session-client.ts';

const stub = (): DurableObjectStub => given.TEST_SESSIONS.get(given.TEST_SESSIONS.newUniqueId());

test('a list whose object has the table of an earlier version is empty and can be written', async () => {
  await runInDurableObject(stub(), async (_, { storage }) => {
    storage.sql.exec(`CREATE TABLE isoloop_chats (id TEXT PRIMARY KEY, title TEXT,
      created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) WITHOUT ROWID`);
    storage.sql.exec("INSERT INTO isoloop_chats VALUES ('old', NULL, 1, 1)");
    const list = new UserList(storage);
    expect(list.page({ limit: 9 })).toEqual([]);
    const chat = { sessionId: 'new', createdAt: 2, updatedAt: 2 };
    list.put(chat);
    expect(list.page({ limit: 9 })).toEqual([chat]);
  });
});

test('SessionIndex creates its table once, with the first entry', async () => {
  await runInDurableObject(stub(), (_, { storage }) => {
    const statements: string[] = [];
    const exec: SqlStorage['exec'] = (query, ...bindings) => {
      statements.push(query.split(' ')[0]!);
      return storage.sql.exec(query, ...bindings);
    };
    const index = new UserList({ sql: { exec } } as DurableObjectStorage);
    for (const sessionId of ['a', 'b', 'a']) index.put({ sessionId, createdAt: 1, updatedAt: 2 });
    expect(statements).toEqual(['CREATE', 'INSERT', 'INSERT', 'INSERT']);
    expect(index.page({ limit: 10 }).map(({ sessionId }) => sessionId)).toEqual(['a', 'b']);
  });
});

test('a page of the session list includes all sessions with the same time as its last session', async () => {
  await runInDurableObject(stub(), (_, { storage }) => {
    const index = new UserList(storage);
    for (const [sessionId, updatedAt] of Object.entries({ a: 3, b: 2, c: 2, d: 2, e: 1 }))
      index.put({ sessionId, createdAt: 1, updatedAt });
    const page = (options: SessionListOptions): string =>
      index
        .page(options)
        .map(({ sessionId }) => sessionId)
        .join('');
    expect([
      page({ limit: 1 }),
      page({ limit: 2 }),
      page({ limit: 4 }),
      page({ limit: 9 }),
    ]).toEqual(['a', 'abcd', 'abcd', 'abcde']);
    expect([
      page({ limit: 1, before: 3 }),
      page({ limit: 1, before: 2 }),
      page({ limit: 1, before: 1 }),
    ]).toEqual(['bcd', 'e', '']);
  });
});
