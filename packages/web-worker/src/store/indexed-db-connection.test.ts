import { ReActAgent, tool, userMessage, type AgentError } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { promisifyRequest } from 'idb-keyval';
import { afterEach, expect, test, vi } from 'vitest';
import { cdp } from 'vitest/browser';
import { fakeClock } from '@test/clock/fake-clock.ts';
import { deleteDatabase, testDatabase } from '../../test-support/database.ts';
import { nextMacrotask } from '../wire/macrotask.ts';
import { IndexedDbMemory } from './indexed-db-memory.ts';
import { IndexedDbStore } from './indexed-db-store.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

type Operation = (store: IndexedDbStore) => Promise<unknown>;

const operations: Readonly<Record<string, Operation>> = {
  get: (store) => store.get('a'),
  getMany: (store) => store.getMany(['a', 'b']),
  keys: (store) => store.keys(''),
  set: (store) => store.set('a', '2'),
  setMany: (store) => store.setMany([['a', '2']]),
  delete: (store) => store.delete(['b']),
  compareAndSet: (store) => store.compareAndSet('a', '1', '2'),
};

/** Events of a transaction and its requests. */
const events = ['success', 'error', 'complete', 'abort'];

/** Makes the next transaction silent, as if its connection were dead. Calls `onBegin` with it. */
function silenceTransaction(onBegin: (transaction: IDBTransaction) => void): void {
  const transaction = IDBDatabase.prototype.transaction;
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementationOnce(function (
    this: IDBDatabase,
    ...args
  ) {
    const silent = Reflect.apply(transaction, this, args);
    const stop = (event: Event): void => event.stopImmediatePropagation();
    for (const name of events) silent.addEventListener(name, stop, { capture: true });
    onBegin(silent);
    return silent;
  });
}

test.for(Object.entries(operations))(
  '%s is repeated if the browser closes the connection and sends nothing to the transaction',
  async ([name, operation]) => {
    const store = new IndexedDbStore({ database: testDatabase() });
    await store.set('a', '1');
    const expected = await operation(store);
    await store.set('a', '1');
    silenceTransaction(({ db }) => queueMicrotask(() => db.dispatchEvent(new Event('close'))));
    expect([name, await operation(store)]).toEqual([name, expected]);
    expect(await store.get('a')).toBe(/set/i.test(name) ? '2' : '1');
  },
);

test.for(Object.entries(operations))(
  '%s fails after the timeout if a transaction never ends, and the next operation works',
  async ([name, operation]) => {
    const store = new IndexedDbStore({ database: testDatabase(), timeoutMs: 500 });
    await store.set('a', '1');
    const clock = fakeClock();
    const hasBegun = new Promise((resolve) => silenceTransaction(resolve));
    const failed = operation(store).catch((error: AgentError) => error);
    await hasBegun;
    await clock.advance(500);
    expect(await failed).toMatchObject({
      code: 'STORAGE_FAILED',
      retryable: true,
      message: expect.stringContaining('no answer for 500 ms'),
    });
    await operation(store);
    expect(await store.get('a')).toBe(/set/i.test(name) ? '2' : '1');
  },
);

test('an open that never answers fails after the timeout, and the next operation opens again', async () => {
  const store = new IndexedDbStore({ database: testDatabase(), timeoutMs: 500 });
  const clock = fakeClock();
  vi.spyOn(indexedDB, 'open').mockImplementationOnce(() => new EventTarget() as never);
  const all = Object.values(operations).map((operation) =>
    operation(store).catch(({ code, retryable }: AgentError) => ({ code, retryable })),
  );
  await clock.advance(500);
  const failure = { code: 'STORAGE_FAILED', retryable: true };
  expect(await Promise.all(all)).toEqual(all.map(() => failure));
  await store.set('a', '1');
  expect(await store.get('a')).toBe('1');
});

test('an open that another tab blocks fails after the timeout, and leaves no connection behind', async () => {
  const database = testDatabase();
  const foreign = await promisifyRequest(indexedDB.open(database));
  const open = indexedDB.open.bind(indexedDB);
  const requests: IDBOpenDBRequest[] = [];
  const isBlocked = new Promise((resolve) => {
    vi.spyOn(indexedDB, 'open').mockImplementation((...args) => {
      const request = open(...args);
      requests.push(request);
      request.addEventListener('blocked', resolve);
      return request;
    });
  });
  const store = new IndexedDbStore({ database, timeoutMs: 500 });
  const clock = fakeClock();
  const failed = store.get('a').catch((error: AgentError) => error);
  await isBlocked;
  await clock.advance(500);
  expect(await failed).toMatchObject({
    code: 'STORAGE_FAILED',
    retryable: true,
    message: expect.stringContaining('close the other tabs'),
  });
  const last = requests.at(-1)!;
  const isLate = new Promise((resolve) => last.addEventListener('error', resolve));
  foreign.close();
  await isLate;
  await store.set('a', '1');
  expect(await store.get('a')).toBe('1');
});

test('a database that opens too late is closed, so that another tab can delete it', async () => {
  const database = testDatabase();
  await new IndexedDbStore({ database }).set('a', '1');
  const open = indexedDB.open.bind(indexedDB);
  let late: IDBOpenDBRequest | undefined;
  const store = new IndexedDbStore({ database, timeoutMs: 500 });
  const clock = fakeClock();
  const isOpen = new Promise((resolve) => {
    vi.spyOn(indexedDB, 'open').mockImplementationOnce((...args) => {
      // The timeout is over before the browser answers.
      queueMicrotask(() => clock.advanceSync(500));
      late = open(...args);
      late.addEventListener('success', resolve);
      return late;
    });
  });
  await expect(store.get('a')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  await isOpen;
  await nextMacrotask();
  expect(() => late!.result.transaction('values')).toThrow(/clos/);
  await deleteDatabase(database);
});

test('a memory whose write was lost with its connection stores the message once', async () => {
  const store = new IndexedDbStore({ database: testDatabase() });
  const memory = new IndexedDbMemory('s', { store });
  await memory.append([userMessage('one', { id: '1' })]);
  for (const id of ['2', '3']) {
    silenceTransaction(({ db }) => queueMicrotask(() => db.dispatchEvent(new Event('close'))));
    await memory.append([userMessage(id, { id })]);
  }
  const messages = await new IndexedDbMemory('s', { store }).read();
  expect(messages.map(({ id }) => id)).toEqual(['1', '2', '3']);
});

test('all operations end if the user deletes the data of the site meanwhile', async () => {
  const store = new IndexedDbStore({ database: testDatabase() });
  const { origin } = location;
  for (let round = 0; round < 10; round += 1) {
    await store.set('a', '1').catch(() => {});
    const pending = Array.from({ length: 20 }, (_, index) => [
      store.set(`k${index}`, 'x'.repeat(20_000)),
      store.get('a'),
      store.compareAndSet('a', '1', '1'),
    ]).flat();
    const clearing = cdp().send('Storage.clearDataForOrigin', {
      origin,
      storageTypes: 'indexeddb',
    });
    const [outcomes] = await Promise.all([Promise.allSettled(pending), clearing]);
    const codes = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    for (const { code } of codes) expect(['STORAGE_FAILED', 'SESSION_DELETED']).toContain(code);
  }
  await store.get('a').catch(() => {});
  await store.set('a', '2');
  expect(await store.get('a')).toBe('2');
});

/** Runs an agent whose tool does something to the database, and then sends another message. */
async function runWith(disturb: (memory: IndexedDbMemory) => Promise<unknown>) {
  const store = new IndexedDbStore({ database: testDatabase() });
  const memory = new IndexedDbMemory('s', { store });
  const disturbOnce = tool({
    name: 'disturb',
    description: '',
    input: {},
    execute: async () => {
      await disturb(memory);
      return 'x';
    },
  });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'disturb', id: 'c' }] },
    ({ messages }) => `${messages.length} messages`,
    ({ messages }) => `${messages.length} messages`,
  ]);
  const agent = new ReActAgent({ name: 'a', memory, model, tools: [disturbOnce] });
  const first = await agent.call('go', { throwOnError: false });
  await store.get('a').catch(() => {});
  const second = await agent.call('hello', { throwOnError: false });
  const messages = await new IndexedDbMemory('s', { store }).read();
  return { first, second, roles: messages.map(({ role }) => role) };
}

const clearSite = (): Promise<unknown> =>
  cdp().send('Storage.clearDataForOrigin', {
    origin: location.origin,
    storageTypes: 'indexeddb',
  });

test.for([
  ['the site', clearSite],
  ['the session', (memory: IndexedDbMemory) => memory.clear()],
] as const)(
  'a run ends with an error if the data of %s is deleted during a tool, and the next message works',
  async ([, deleteData]) => {
    const { first, second, roles } = await runWith((memory) => deleteData(memory));
    expect(first.error).toMatchObject({ code: 'SESSION_DELETED' });
    expect(second.error).toBeUndefined();
    expect(roles).toEqual(['user', 'assistant']);
  },
);

test('a run goes on if the browser closes only the connection during a tool', async () => {
  const { first, roles } = await runWith(async () => {
    silenceTransaction(({ db }) => queueMicrotask(() => db.dispatchEvent(new Event('close'))));
  });
  expect(first.reason).toBe('stop');
  expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant']);
});
