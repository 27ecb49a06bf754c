import { promisifyRequest } from 'idb-keyval';
import { expect, test } from 'vitest';
import indexedDb from '../../../../test/fixtures/release-0.1/sessions/indexed-db.json';
import { expectStoredSessions, type StoredSessions } from '../../../../test/stored-sessions.ts';
import { IndexedDbStore } from './indexed-db-store.ts';

test('sessions of release 0.1 in IndexedDB open and continue', async () => {
  const database = `stored-sessions-${crypto.randomUUID()}`;
  const stored = indexedDb as unknown as StoredSessions;
  await write(database, stored.entries);
  await expect(
    expectStoredSessions(new IndexedDbStore({ database }), stored),
  ).resolves.toBeUndefined();
});

/** Writes the stored values directly to IndexedDB, without the store under test. */
async function write(database: string, entries: StoredSessions['entries']): Promise<void> {
  const request = indexedDB.open(database);
  request.addEventListener('upgradeneeded', () =>
    request.result.createObjectStore(indexedDb.objectStore),
  );
  const db = await promisifyRequest(request);
  const transaction = db.transaction(indexedDb.objectStore, 'readwrite');
  for (const [key, value] of entries)
    transaction.objectStore(indexedDb.objectStore).put(value, key);
  await promisifyRequest(transaction);
  db.close();
}
