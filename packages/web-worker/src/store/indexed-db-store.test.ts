import { userMessage, type AgentError } from '@isoloop/core';
import { keyValueStoreConformance, memoryConformance } from '@isoloop/core/testing';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { promisifyRequest } from 'idb-keyval';
import * as vitest from 'vitest';
import { cdp } from 'vitest/browser';
import { IndexedDbMemory } from './indexed-db-memory.ts';
import { IndexedDbStore } from './indexed-db-store.ts';
import { deleteDatabase, testDatabase } from '../../test-support/database.ts';
import { sessionConformance } from '@test/stores/session-conformance.ts';

const shared = new IndexedDbStore({ database: 'conformance' });
// The tests of the suites share one connection.
beforeAll(() => shared.get('a'));
afterAll(() => deleteDatabase('conformance'));
keyValueStoreConformance(vitest, 'IndexedDbStore', () => shared);
sessionConformance(vitest, 'IndexedDbStore', () => shared);
memoryConformance(
  vitest,
  'IndexedDbMemory',
  (sessionId) => new IndexedDbMemory(sessionId, { store: shared }),
  { persistent: true },
);

afterEach(() => {
  vi.restoreAllMocks();
});

/** Returns a list that collects the databases opened after this call. */
function watchOpen(): readonly IDBDatabase[] {
  const opened: IDBDatabase[] = [];
  const open = indexedDB.open.bind(indexedDB);
  vi.spyOn(indexedDB, 'open').mockImplementation((...args) => {
    const request = open(...args);
    request.addEventListener('success', () => opened.push(request.result));
    return request;
  });
  return opened;
}

test('IndexedDbStore reopens a connection that died silently, and repeats the operation', async () => {
  const opened = watchOpen();
  const store = new IndexedDbStore({ database: testDatabase('reopen') });
  await store.set('a', '1');
  opened[0]?.close();
  expect(await store.get('a')).toBe('1');
  opened[1]?.close();
  await store.setMany([['a', '2']]);
  opened[2]?.close();
  expect(await store.compareAndSet('a', '2', '3')).toBe(true);
  opened[3]?.close();
  expect(await store.keys('')).toEqual(['a']);
  expect(opened.length).toBe(5);
});

test('after the browser has closed a connection, the next operation reports the eviction, and the one after it reopens', async () => {
  const opened = watchOpen();
  const store = new IndexedDbStore({ database: testDatabase('forced') });
  await store.set('a', '1');
  const closed = new Promise((resolve) => opened[0]?.addEventListener('close', resolve));
  await cdp().send('Storage.clearDataForOrigin', {
    origin: location.origin,
    storageTypes: 'indexeddb',
  });
  await closed;
  await expect(store.get('a')).rejects.toMatchObject({ code: 'SESSION_DELETED' });
  expect(await store.get('a')).toBeUndefined();
  await store.set('a', '2');
  expect(await store.get('a')).toBe('2');
});

test('IndexedDbStore gives up an operation after three failed connections', async () => {
  const store = new IndexedDbStore({ database: testDatabase('lost') });
  const cause = new DOMException(
    'Connection to Indexed Database server lost. Refresh the page to try again',
    'UnknownError',
  );
  const open = vi.spyOn(indexedDB, 'open').mockImplementation(() => {
    throw cause;
  });
  await expect(store.get('a')).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    retryable: true,
    message: expect.stringContaining(cause.message),
    cause,
  });
  expect(open).toHaveBeenCalledTimes(3);
  open.mockRestore();
  expect(await store.get('a')).toBeUndefined();
});

test('IndexedDbStore does not retry other failures', async () => {
  const store = new IndexedDbStore({ database: testDatabase('refused') });
  const open = vi.spyOn(indexedDB, 'open').mockImplementation(() => {
    throw new DOMException('access denied', 'SecurityError');
  });
  await expect(store.get('a')).rejects.toMatchObject({ code: 'STORAGE_FAILED', retryable: false });
  expect(open).toHaveBeenCalledTimes(1);
});

/** Lets the next `times` attempts to open a database fail, and counts the attempts. */
function failOpen(error: DOMException, times = 1): { readonly opens: () => number } {
  const open = indexedDB.open.bind(indexedDB);
  const spy = vi.spyOn(indexedDB, 'open').mockImplementation((...args) => {
    if (spy.mock.calls.length > times) return open(...args);
    const request = Object.assign(new EventTarget(), {
      error,
      onerror: undefined as (() => void) | undefined,
    });
    queueMicrotask(() => request.onerror?.());
    return request as never;
  });
  return { opens: () => spy.mock.calls.length };
}

test.each([
  ['QuotaExceededError', 'STORAGE_QUOTA', 1],
  ['NotAllowedError', 'STORAGE_FAILED', 1],
  ['TimeoutError', 'STORAGE_FAILED', 1],
  ['SecurityError', 'STORAGE_FAILED', 1],
  ['VersionError', 'STORAGE_FAILED', 1],
  ['UnknownError', 'STORAGE_FAILED', 3],
])('after indexedDB.open failed with %s, the next operations work', async (name, code, times) => {
  const store = new IndexedDbStore({ database: testDatabase(`open-${name}`) });
  const { opens } = failOpen(new DOMException('not now', name), times);
  const operations = () => [store.set('a', '1'), store.get('a'), store.compareAndSet('b', '', '')];
  const codes = operations().map((operation) => operation.catch((error: AgentError) => error.code));
  expect(await Promise.all(codes)).toEqual([code, code, code]);
  // Concurrent operations share each attempt.
  expect(opens()).toBe(times);
  expect(await Promise.all(operations())).toEqual([undefined, '1', false]);
  expect(opens()).toBe(times + 1);
});

test('a store that cannot be opened for a moment loses no message', async () => {
  const store = new IndexedDbStore({ database: testDatabase('lost-message') });
  failOpen(new DOMException('not now', 'TimeoutError'), 2);
  const memory = new IndexedDbMemory('s', { store });
  const [one, two, three] = ['one', 'two', 'three'].map((text) => userMessage(text));
  for (const failed of [memory.append([one!]), memory.append([two!])])
    await expect(failed).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  await memory.append([three!]);
  expect(await new IndexedDbMemory('s', { store }).read()).toEqual([one, two, three]);
});

// https://github.com/jakearchibald/idb-keyval/issues/134
test('a database that another program created without the store is completed, also for other tabs', async () => {
  const database = testDatabase('empty');
  const foreign = await promisifyRequest(indexedDB.open(database));
  foreign.addEventListener('versionchange', () => foreign.close());
  const [store, other] = [new IndexedDbStore({ database }), new IndexedDbStore({ database })];
  await Promise.all([store.set('a', '1'), other.set('b', '2')]);
  expect(await other.get('a')).toBe('1');
  expect(await store.get('b')).toBe('2');
});

test('compareAndSet() returns true if its value was written before the connection died', async () => {
  const store = new IndexedDbStore({ database: testDatabase('uncertain') });
  await store.set('a', '1');
  const put = IDBObjectStore.prototype.put;
  vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementationOnce(function (
    this: IDBObjectStore,
    ...args
  ) {
    const request = put.apply(this, args);
    const cutOff = (event: Event): void => {
      event.stopImmediatePropagation();
      this.transaction.dispatchEvent(new Event('abort'));
    };
    this.transaction.addEventListener('complete', cutOff, { capture: true });
    return request;
  });
  expect(await store.compareAndSet('a', '1', '2')).toBe(true);
  expect(await store.get('a')).toBe('2');
});

test('setMany() writes all entries or none', async () => {
  const store = new IndexedDbStore({ database: testDatabase('atomic') });
  const put = IDBObjectStore.prototype.put;
  let calls = 0;
  vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(function (
    this: IDBObjectStore,
    ...args
  ) {
    if (++calls % 3 === 0) this.transaction.abort();
    return put.apply(this, args);
  });
  await expect(
    store.setMany([
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
    ]),
  ).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(await store.keys('')).toEqual([]);
});

test('the browser can delete the database while IndexedDbStore has it open', async () => {
  const store = new IndexedDbStore({ database: testDatabase('deleted') });
  await store.set('a', '1');
  await new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase('deleted');
    request.onsuccess = resolve;
    request.onblocked = reject;
  });
  await expect(store.set('a', '2')).rejects.toMatchObject({ code: 'SESSION_DELETED' });
  expect(await store.get('a')).toBeUndefined();
});

test('on a full disk the conversation stays complete in memory, and is stored once there is space', async () => {
  const { origin } = location;
  const session = cdp();
  // Chromium caches the free space of a database for half a minute, but not for a new database.
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' });
  const store = new IndexedDbStore({ database: testDatabase('full') });
  const memory = new IndexedDbMemory('s', { store });
  const large = Array.from({ length: 30_000 }, () => crypto.randomUUID()).join('');

  await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 300_000 });
  onTestFinished(async () => {
    await session.send('Storage.overrideQuotaForOrigin', { origin });
  });
  await memory.append([userMessage('small', { id: '1' })]);
  await expect(memory.append([userMessage(large, { id: '2' })])).rejects.toMatchObject({
    code: 'STORAGE_QUOTA',
    message: expect.stringContaining('no room'),
  });
  expect((await memory.read()).map(({ id }) => id)).toEqual(['1', '2']);
  expect((await new IndexedDbMemory('s', { store }).read()).map(({ id }) => id)).toEqual(['1']);

  await session.send('Storage.overrideQuotaForOrigin', { origin });
  await memory.append([userMessage('later', { id: '3' })]);
  expect((await new IndexedDbMemory('s', { store }).read()).map(({ id }) => id)).toEqual([
    '1',
    '2',
    '3',
  ]);
});
