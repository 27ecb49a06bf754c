import { assistantMessage, SessionMemory, textOf, userMessage } from '@isoloop/core';
import { keywordMemory } from '@isoloop/recall';
import { IndexedDbSessions, IndexedDbStore, type SessionExport } from '@isoloop/web-worker';
import { IndexedDbMemory } from './indexed-db-memory.ts';
import { expect, test, vi } from 'vitest';
import { startWorker } from '../../test-support/worker-under-test.ts';
import { testDatabase } from '../../test-support/database.ts';

function open(database: string = testDatabase()) {
  const store = new IndexedDbStore({ database });
  return { database, store, sessions: new IndexedDbSessions({ store }) };
}

test('a page lists, renames and deletes the sessions that the worker’s agents wrote', async () => {
  const { database, store, sessions } = open();
  const { connect } = startWorker();
  await connect('chat/1', { database }).call('My cat is called Momo.');
  await connect('chat/2', { database }).call('hello');
  await sessions.rename('chat/1', '猫');
  expect(await sessions.list()).toMatchObject([
    { sessionId: 'chat/1', title: '猫' },
    { sessionId: 'chat/2' },
  ]);
  expect((await sessions.list({ startsWith: 'chat/2' })).map(({ sessionId }) => sessionId)).toEqual(
    ['chat/2'],
  );
  const [one, two] = ['u1', 'u2'].map((namespace) => keywordMemory({ store, namespace }));
  await one!.record([userMessage('The cat is called Momo.')], { sessionId: 'chat/1' });
  await two!.record([userMessage('The cat is called Momo.')], { sessionId: 'chat/1' });
  await one!.record([userMessage('The cat is called Kuro.')], { sessionId: 'chat' });
  await sessions.delete('chat/1');
  await sessions.delete('never was');
  expect((await sessions.list()).map(({ sessionId }) => sessionId)).toEqual(['chat/2']);
  expect((await one!.retrieve('cat')).map(({ text }) => text)).toEqual([
    'user: The cat is called Kuro.',
  ]);
  expect(await two!.retrieve('cat')).toEqual([]);
  expect((await store.keys('')).some((key) => key.includes('chat%2F1'))).toBe(false);
  const elsewhere = { deleteSession: vi.fn(async () => {}) };
  await new IndexedDbSessions({ store, longTermMemories: [elsewhere, {}] }).delete('chat/2');
  expect(elsewhere.deleteSession).toHaveBeenCalledExactlyOnceWith('chat/2');
});

test('an export is plain JSON with messages, open calls, summary and title', async () => {
  const { sessions, store } = open();
  const memory = new IndexedDbMemory('s', { store });
  await memory.append([userMessage('one', { id: '1' }), userMessage('two', { id: '2' })]);
  await memory.append([
    assistantMessage([{ type: 'tool_use', id: 'c', name: 'pay', input: {} }], { id: '3' }),
  ]);
  await memory.note([
    { kind: 'run-begin', runId: 'r' },
    {
      kind: 'suspended',
      calls: [{ pending: { toolUseId: 'c', name: 'pay', input: {}, kind: 'approval' } }],
    },
    { kind: 'summary', firstId: '1', lastId: '2', count: 2, text: 'numbers' },
  ]);
  await memory.rename('Numbers');
  const exported = JSON.parse(JSON.stringify(await sessions.export('s')));
  const other = open();
  expect(await other.sessions.import(exported)).toBe('s');
  const copy = new IndexedDbMemory('s', { store: other.store });
  expect(await copy.view()).toMatchObject({
    messages: await memory.read(),
    openRunId: 'r',
    summary: { text: 'numbers' },
    state: { title: 'Numbers' },
  });
  expect((await copy.view()).calls.get('c')?.pending).toMatchObject({ kind: 'approval' });
  expect(await other.sessions.list()).toMatchObject([{ sessionId: 's', title: 'Numbers' }]);
});

test('import() can give a session another id, and replaces an existing session only with `replace`', async () => {
  const { sessions, store } = open();
  await new IndexedDbMemory('a', { store }).append([userMessage('from a')]);
  await new IndexedDbMemory('b', { store }).append([userMessage('from b')]);
  const exported = await sessions.export('a');
  await expect(sessions.import(exported, { sessionId: 'b' })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
  expect(await sessions.import(exported, { sessionId: 'c' })).toBe('c');
  await sessions.import(exported, { sessionId: 'b', replace: true });
  expect((await new IndexedDbMemory('b', { store }).read()).map(textOf)).toEqual(['from a']);
});

test('an agent whose session is open continues from the imported messages', async () => {
  const { database, sessions } = open();
  const agent = startWorker().connect('s', { database, replies: ['one', 'two'] });
  await agent.call('first');
  const exported = await sessions.export('s');
  await sessions.import(
    { ...exported, records: [{ kind: 'message', message: userMessage('imported') }] },
    { replace: true },
  );
  await agent.call('second');
  expect((await agent.messages()).map(textOf)).toEqual(['imported', 'second', 'two']);
});

/** An exported session without records. */
const good: SessionExport = {
  format: 'isoloop-session',
  version: 5,
  sessionId: 'x',
  records: [],
};

test.for([
  ['null', null],
  ['another format', { ...good, format: 'chat' }],
  ['a newer version', { ...good, version: good.version + 1 }],
  ['no id', { ...good, sessionId: undefined }],
  ['no records', { ...good, records: undefined }],
  ['a record of an unknown kind', { ...good, records: [{ kind: 'spell' }] }],
  ['an invalid message', { ...good, records: [{ kind: 'message', message: {} }] }],
] as const)('import() rejects %s and changes nothing', async ([, exported]) => {
  const { sessions, store } = open();
  await new IndexedDbMemory('x', { store }).append([userMessage('kept')]);
  await expect(sessions.import(exported, { replace: true })).rejects.toMatchObject({
    code: 'INVALID_STATE',
  });
  expect((await new IndexedDbMemory('x', { store }).read()).map(textOf)).toEqual(['kept']);
});

test('an unknown session cannot be renamed or exported', async () => {
  const { sessions } = open();
  await expect(sessions.rename('x', 'y')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await expect(sessions.export('x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('persist() asks the browser for persistence, and storage() reports usage and quota', async () => {
  const { sessions } = open();
  const persist = vi.spyOn(navigator.storage, 'persist').mockResolvedValue(true);
  expect(await sessions.persist()).toBe(true);
  persist.mockRestore();
  expect(await sessions.storage()).toMatchObject({
    persisted: false,
    usage: expect.any(Number),
    quota: expect.any(Number),
  });
  vi.spyOn(navigator, 'storage', 'get').mockReturnValue(undefined as never);
  expect(await sessions.persist()).toBe(false);
  expect(await sessions.storage()).toEqual({
    persisted: false,
    usage: undefined,
    quota: undefined,
  });
  vi.restoreAllMocks();
});

test('forty concurrent writers, each with its own connection, all add their message to one session', async () => {
  const { database, store } = open();
  const write = (n: number): Promise<void> => {
    const own = new IndexedDbStore({ database });
    return new SessionMemory(own, 's').append([userMessage(`${n}`)]);
  };
  await Promise.all(Array.from({ length: 40 }, (_, n) => write(n)));
  const read = await new SessionMemory(store, 's').read();
  expect(new Set(read.map(textOf)).size).toBe(40);
});
