import { expect, test } from 'vitest';
import type { AgentError } from '../error/agent-error.ts';
import { assistantMessage, toolMessage, userMessage, type Msg } from '../message/msg.ts';
import { idsOf, message } from '../../../../test/support/messages.ts';
import type { KeyValueStore } from './store/key-value-store.ts';
import type { LogNote } from './log/log-record.ts';
import { weakStore } from '../../../../test/support/weak-store.ts';
import { MemoryStore } from './store/memory-store.ts';
import { listSessions } from './list-sessions.ts';
import { adoptRecords } from './move/adopt-records.ts';
import { SessionMemory } from './session-memory.ts';

const asks = (...ids: readonly string[]): Msg =>
  assistantMessage(
    ids.map((id) => ({ type: 'tool_use', id, name: 'pay', input: {} }) as const),
    { id: `asks ${ids.join()}` },
  );
const result = (toolUseId: string): Msg =>
  toolMessage(
    { type: 'tool_result', toolUseId, name: 'pay', output: 'ok', state: 'success' },
    { id: `result ${toolUseId}` },
  );

test('a message that rewrite() stores in place of others is read immediately', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  await memory.append([userMessage('Hi', { id: 'q' }), assistantMessage('No.', { id: 'old' })]);
  await memory.rewrite(['old'], [assistantMessage('Yes.', { id: 'new' })]);
  expect((await memory.read()).map(({ id }) => id)).toEqual(['q', 'new']);
});

test('another memory reads the state of runs and tool calls from notes, also after a snapshot', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's', { compactAfter: 1 });
  const reopened = async () => new SessionMemory(store, 's', { compactAfter: 1 }).view();
  await memory.note([{ kind: 'run-begin', runId: 'r1' }]);
  expect(await store.keys('')).toEqual([]);
  await memory.append([userMessage('Pay.', { id: 'q' }), asks('a', 'b', 'c', 'd', 'e')]);
  expect(await reopened()).toMatchObject({ openRunId: 'r1', endReason: undefined });

  const edited = { type: 'tool_use', id: 'a', name: 'pay', input: { n: 1 } } as const;
  const notes: readonly LogNote[] = [
    { kind: 'call-started', toolUseId: 'a', toolUse: edited },
    {
      kind: 'suspended',
      calls: [{ pending: { toolUseId: 'b', name: 'pay', input: {}, kind: 'approval' } }],
    },
    { kind: 'decision', decision: { toolUseId: 'c', type: 'approve' } },
    { kind: 'decision', decision: { toolUseId: 'd', type: 'approve' } },
    { kind: 'call-started', toolUseId: 'd' },
    { kind: 'call-started', toolUseId: 'unknown' },
    { kind: 'decision', decision: { toolUseId: 'e', type: 'approve' } },
    { kind: 'call-started', toolUseId: 'e' },
    {
      kind: 'suspended',
      calls: [{ pending: { toolUseId: 'e', name: 'pay', input: {}, kind: 'suspended' } }],
    },
    { kind: 'state', state: { todos: ['one'], gone: 1 } },
    { kind: 'state', state: { gone: null } },
    { kind: 'summary', firstId: 'q', lastId: 'q', count: 1, text: 'short' },
    { kind: 'run-end', runId: 'r1', reason: 'suspended' },
  ];
  await memory.note(notes);
  await memory.flush();
  const calls = new Map<string, object>([
    ['a', { toolUse: edited, started: true }],
    [
      'b',
      { pending: { toolUseId: 'b', name: 'pay', input: {}, kind: 'approval' }, started: false },
    ],
    ['c', { decision: { toolUseId: 'c', type: 'approve' } }],
    ['d', { approved: true, started: true }],
    [
      'e',
      {
        approved: true,
        pending: { toolUseId: 'e', name: 'pay', input: {}, kind: 'suspended' },
        started: false,
      },
    ],
  ]);
  const expected = {
    openRunId: 'r1',
    endReason: 'suspended',
    state: { todos: ['one'] },
    calls,
    summary: notes[11],
  };
  expect(await memory.view()).toMatchObject(expected);
  expect(await reopened()).toMatchObject(expected);

  const other = new SessionMemory(store, 's', { compactAfter: 1 });
  await other.append([result('a')]);
  expect((await store.keys('s:s:r:')).length).toBe(1);
  calls.delete('a');
  expect((await reopened()).calls).toEqual(calls);
  expect(await reopened()).toMatchObject({ ...expected, calls });

  await other.delete(['result a']);
  expect((await reopened()).calls.get('a')).toEqual({ started: true });
  await other.delete(['q', 'asks a,b,c,d,e']);
  expect(await reopened()).toMatchObject({ messages: [], calls: new Map(), summary: undefined });
});

test('a run that has ended without open tool calls is not an open run', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  for (const [reason, openRunId] of [
    ['stop', undefined],
    ['error', 'r'],
    ['suspended', 'r'],
    ['interrupted', undefined],
  ] as const) {
    await memory.note([
      { kind: 'run-begin', runId: 'r' },
      { kind: 'run-end', runId: 'r', reason },
    ]);
    expect(await memory.view()).toMatchObject({ endReason: reason });
    expect((await memory.view()).openRunId).toBe(openRunId);
  }
});

test.for([
  ['a store with compare-and-set', false],
  ['a store without compare-and-set', true],
] as const)(
  'with %s, the first flush after a read compacts a long log to a snapshot',
  async ([, weak]) => {
    const inner = new MemoryStore({ maxValueBytes: 500 });
    const store = weak ? weakStore(inner) : inner;
    const open = (): SessionMemory => new SessionMemory(store, 's', { compactAfter: 40 });
    const expected: string[] = [];
    let writer = open();
    const late = open();
    await late.read();
    for (let n = 0; n < 200; n++) {
      if (n % 45 === 44) writer = open();
      await writer.append([message(`${n}`)]);
      expected.push(`${n}`);
      if (n % 10 === 3) {
        await writer.delete([`${n - 1}`]);
        expected.splice(-2, 1);
      }
      if (n % 60 === 7) {
        await late.append([message(`late ${n}`)]);
        expected.push(`late ${n}`);
      }
    }
    expect(idsOf(await open().read())).toEqual(expected);
    expect(idsOf(await late.append([message('end')]).then(() => late.read()))).toEqual([
      ...expected,
      'end',
    ]);
    const batches = new Set((await inner.keys('s:s:r:')).map((key) => key.split(':')[3]));
    expect(batches.size).toBeLessThan(weak ? 130 : 60);
  },
);

test('a writer continues after another writer made a snapshot and deleted the records that it contains', async () => {
  const store = new MemoryStore();
  const first = new SessionMemory(store, 's');
  for (let n = 0; n < 5; n++) await first.append([message(`${n}`)]);
  const reader = new SessionMemory(store, 's');
  let between = true;
  const racing: KeyValueStore = Object.assign(Object.create(store) as MemoryStore, {
    getMany: async (keys: readonly string[]) => {
      if (between) {
        between = false;
        const compacting = new SessionMemory(store, 's', { compactAfter: 2 });
        await compacting.append([message('5')]);
      }
      return store.getMany(keys);
    },
    get: (key: string) => store.get(key),
  });
  expect(idsOf(await new SessionMemory(racing, 's').read())).toEqual([
    '0',
    '1',
    '2',
    '3',
    '4',
    '5',
  ]);
  await first.append([message('6')]);
  await reader.append([message('7')]);
  expect(idsOf(await reader.read())).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
});

test('listSessions() returns titles and times, and times never decrease if the clock is set back', async () => {
  const store = new MemoryStore();
  let time = 100;
  const open = (id: string): SessionMemory => new SessionMemory(store, id, { now: () => time });
  await open('ann/b 会话').append([message('1')]);
  time = 50;
  await open('ann/b 会话').append([message('2')]);
  await open('ann/a').rename('Weather 天気');
  await open('bob/c').append([message('1')]);
  await store.set('s:ann%2Fx:head', '{"v":99}');
  await store.set('summary:x', '1');
  const ann = await listSessions(store, { startsWith: 'ann/' });
  expect(ann).toEqual([
    { sessionId: 'ann/a', title: 'Weather 天気', createdAt: 50, updatedAt: 50, version: 1 },
    { sessionId: 'ann/b 会话', createdAt: 100, updatedAt: 100, version: 2 },
    { sessionId: 'ann/x', createdAt: 0, updatedAt: 0, version: -1 },
  ]);
  expect((await listSessions(store)).map(({ sessionId }) => sessionId)).toEqual([
    'ann/a',
    'ann/b 会话',
    'ann/x',
    'bob/c',
  ]);
  await open('ann/a').append([message('1')]);
  expect((await listSessions(store, { startsWith: 'ann/a' }))[0]?.title).toBe('Weather 天気');
  await open('ann/a').rename('');
  expect((await listSessions(store, { startsWith: 'ann/a' }))[0]?.title).toBeUndefined();
});

test('replace() replaces a message in its place', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  await memory.append([message('1'), message('2'), message('3')]);
  await memory.replace(userMessage('other', { id: '2' }));
  const read = await new SessionMemory(store, 's').read();
  expect(idsOf(read)).toEqual(['1', '2', '3']);
  expect(read[1]?.content).toEqual([{ type: 'text', text: 'other' }]);
  await expect(memory.replace(message('4'))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

const damages: readonly (readonly [
  name: string,
  damage: (store: MemoryStore, key: string) => Promise<void>,
])[] = [
  ['not JSON', (store, key) => store.set(key, '{')],
  ['of a newer version', async (store, key) => store.set(key, '{"v":9,"all":"new"}')],
  ['missing', (store, key) => store.delete([key])],
  [
    'not a message',
    async (store, key) =>
      store.set(key, String(await store.get(key)).replace('"role":"user"', '"role":"root"')),
  ],
];

test.for(damages)(
  'if a record is %s, the other records are read, and nothing is overwritten',
  async ([, damage]) => {
    for (const at of [1, 20, 33, 45, 66, 70]) {
      const store = new MemoryStore();
      const writer = new SessionMemory(store, 's');
      for (let n = 1; n <= 70; n++) await writer.append([message(`${n}`)]);
      const [key = ''] = (await store.keys('s:s:r:')).filter((each) =>
        each.includes(`:${String(at).padStart(8, '0')}-`),
      );
      // A crashed writer left this batch, and no later batch refers to it.
      await store.set(
        's:s:r:00000020-orphan',
        String(await store.get(key)).replaceAll(`"${at}"`, '"orphan"'),
      );
      await damage(store, key);
      const before = await store.get(key);

      const errors: AgentError[] = [];
      const open = (): SessionMemory =>
        new SessionMemory(store, 's', {
          compactAfter: 1,
          onDamage: (error) => void errors.push(error),
        });
      const expected = Array.from({ length: 70 }, (_, n) => `${n + 1}`).filter(
        (id) => id !== `${at}`,
      );
      expect(idsOf(await open().read())).toEqual(expected);
      expect(errors).toHaveLength(1);
      await open().append([message('next')]);
      expect(idsOf(await open().read())).toEqual([...expected, 'next']);
      expect(await store.get(key)).toBe(before);
    }
  },
);

test('adopt() copies messages, open tool calls, summary and title of another session', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 'one');
  await memory.append([userMessage('hi', { id: 'u' }), asks('a')]);
  await memory.note([
    { kind: 'run-begin', runId: 'r' },
    {
      kind: 'suspended',
      calls: [{ pending: { toolUseId: 'a', name: 'pay', input: {}, kind: 'approval' } }],
    },
    { kind: 'summary', firstId: 'u', lastId: 'u', count: 1, text: 'greeting' },
  ]);
  await memory.rename('Greeting');
  const records = await memory.records();
  await adoptRecords(new SessionMemory(store, 'two'), JSON.parse(JSON.stringify(records)));
  const [one, two] = [
    await new SessionMemory(store, 'one').view(),
    await new SessionMemory(store, 'two').view(),
  ];
  expect({ ...two, writerId: undefined }).toEqual({ ...one, writerId: undefined });
  expect((await listSessions(store)).map(({ title }) => title)).toEqual(['Greeting', 'Greeting']);
});

test.for([
  ['an unknown record', [{ kind: 'spell' }]],
  ['an invalid message', [{ kind: 'message', message: {} }]],
  ['a value that is not an array', {}],
] as const)(
  'adoptRecords() rejects %s, and it rejects all records if the session has messages',
  async ([, records]) => {
    const memory = new SessionMemory(new MemoryStore(), 's');
    const refused = { code: 'INVALID_STATE' };
    await expect(adoptRecords(memory, records as never)).rejects.toMatchObject(refused);
    await memory.append([userMessage('hi')]);
    await expect(adoptRecords(memory, [])).rejects.toMatchObject(refused);
    expect(await memory.records()).toHaveLength(1);
  },
);
