import * as vitest from 'vitest';
import { expect, test } from 'vitest';
import { type Msg, assistantMessage, userMessage } from '../message/msg.ts';
import { memoryConformance } from '../testing/memory-conformance.ts';
import { idsOf, message } from '@test/support/messages.ts';
import type { KeyValueStore } from './store/key-value-store.ts';
import { weakStore } from '@test/support/weak-store.ts';
import { MemoryStore } from './store/memory-store.ts';
import { formatVersion } from './log/stored/stored-batch.ts';
import { SessionMemory } from './session-memory.ts';

const later = formatVersion + 1;

for (const durability of ['step', 'turn'] as const) {
  const store = new MemoryStore();
  memoryConformance(
    vitest,
    `SessionMemory (${durability})`,
    (sessionId) => new SessionMemory(store, sessionId, { durability }),
    {
      persistent: true,
    },
  );
}

const small = new MemoryStore({ maxValueBytes: 100 });
memoryConformance(
  vitest,
  'SessionMemory (split values)',
  (sessionId) => new SessionMemory(small, sessionId),
  { persistent: true },
);

/**
 * Counts store operations and the bytes they read or write. Fails if `keys` is used to find
 * records.
 */
class MeteredStore extends MemoryStore {
  calls = 0;
  bytes = 0;

  override async get(key: string): Promise<string | undefined> {
    const value = await super.get(key);
    this.#count(value);
    return value;
  }
  override async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const values = await super.getMany(keys);
    this.#count(...values.values());
    return values;
  }
  override setMany(entries: readonly (readonly [string, string])[]): Promise<void> {
    this.#count(...entries.map(([, value]) => value));
    return super.setMany(entries);
  }
  override compareAndSet(
    key: string,
    expected: string | undefined,
    value: string,
  ): Promise<boolean> {
    this.#count(value);
    return super.compareAndSet(key, expected, value);
  }
  override keys(): Promise<readonly string[]> {
    throw new Error('records must not be found by keys()');
  }
  #count(...values: (string | undefined)[]): void {
    this.calls++;
    this.bytes += values.join('').length;
  }
  take(): { calls: number; bytes: number } {
    const { calls, bytes } = this;
    this.calls = 0;
    this.bytes = 0;
    return { calls, bytes };
  }
}

test('an append costs the same at message 10,000 as at message 10, and a read takes few rounds', async () => {
  const store = new MeteredStore();
  const memory = new SessionMemory(store, 's');
  const costs: { calls: number; bytes: number }[] = [];
  await memory.read();
  store.take();
  for (let n = 1; n <= 10_000; n++) {
    await memory.append([message(String(n))]);
    costs.push(store.take());
  }
  // The first write is read back. A lost first write would look like a session that was cleared.
  expect(costs[0]?.calls).toBe(3);
  expect(new Set(costs.slice(1).map(({ calls }) => calls))).toEqual(new Set([2]));
  expect(Math.max(...costs.map(({ bytes }) => bytes))).toBeLessThan(6_000);
  const average = (some: typeof costs): number =>
    some.reduce((sum, { bytes }) => sum + bytes, 0) / some.length;
  expect(average(costs.slice(9_000))).toBeLessThan(average(costs.slice(0, 1_000)) * 3);

  const read = await new SessionMemory(store, 's').read();
  expect(read.map(({ id }) => Number(id))).toEqual(Array.from({ length: 10_000 }, (_, n) => n + 1));
  expect(store.take().calls).toBeLessThanOrEqual(4);
});

test('durability `step` writes with each append, `turn` writes with each flush, and a flush without changes writes nothing', async () => {
  const store = new MeteredStore();
  const step = new SessionMemory(store, 'step');
  await step.append([message('1')]);
  expect(idsOf(await new SessionMemory(store, 'step').read())).toEqual(['1']);
  expect(step.sessionVersion).toBe(1);

  const turn = new SessionMemory(store, 'turn', { durability: 'turn' });
  await turn.append([message('1')]);
  await turn.append([message('2'), message('3')]);
  await turn.delete(['2']);
  expect(idsOf(await new SessionMemory(store, 'turn').read())).toEqual([]);
  expect(turn.sessionVersion).toBe(0);
  await turn.flush();
  expect(turn.sessionVersion).toBe(1);
  expect(idsOf(await new SessionMemory(store, 'turn').read())).toEqual(['1', '3']);

  store.take();
  await turn.flush();
  await turn.delete(['unknown']);
  await turn.flush();
  expect(store.take().calls).toBe(0);
});

test('clear() deletes all keys of the session, even those of a failed write', async () => {
  const store = new MemoryStore({ maxValueBytes: 64 });
  const other = new SessionMemory(store, 's:');
  await other.append([message('other')]);
  const keys = await store.keys('');

  const memory = new SessionMemory(store, 's');
  for (let n = 0; n < 70; n++) await memory.append([message(String(n))]);
  await store.set('s:s:r:00000071-orphan', '{}');
  expect((await store.keys('')).length).toBeGreaterThan(200);
  await memory.clear();
  expect(await store.keys('')).toEqual(keys);
  expect(idsOf(await other.read())).toEqual(['other']);
});

test('keys are ASCII with at most 512 bytes, for any session id', async () => {
  const store = new MemoryStore({ maxValueBytes: 64 });
  for (const id of ['会话 1', '..', '.', 'a/b:c', '😀'.repeat(33), 'x'.repeat(400)]) {
    const memory = new SessionMemory(store, id);
    await memory.append([message(id)]);
    expect(idsOf(await new SessionMemory(store, id).read())).toEqual([id]);
  }
  const keys = await store.keys('');
  expect(keys.filter((key) => !/^[!-~]{1,512}$/.test(key))).toEqual([]);
});

test.for([[''], ['x'.repeat(401)], ['会'.repeat(45)], ['\ud800']])(
  'SessionMemory rejects the session id %j',
  ([id = '']) => {
    expect(() => new SessionMemory(new MemoryStore(), id)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    );
  },
);

test('append() rejects an invalid message before it stores anything', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  const bad = { ...message('bad'), createdAt: undefined } as unknown as Msg;
  await expect(memory.append([message('1'), bad])).rejects.toMatchObject({
    code: 'INVALID_MESSAGE',
    details: { index: 1, id: 'bad' },
  });
  await memory.append([message('2')]);
  expect(idsOf(await new SessionMemory(store, 's').read())).toEqual(['2']);
});

const damages: readonly (readonly [
  name: string,
  damage: (store: KeyValueStore) => Promise<void>,
  error: object,
])[] = [
  [
    'a head that is not JSON',
    (store) => store.set('s:s:head', '{"v":1'),
    { code: 'STORAGE_FAILED', message: expect.stringContaining('head') },
  ],
  [
    'a head without its fields',
    (store) => store.set('s:s:head', '{"v":1,"version":1}'),
    { code: 'STORAGE_FAILED' },
  ],
  [
    'a head of a later format',
    (store) => store.set('s:s:head', `{"v":${later},"all":"new"}`),
    { code: 'STORAGE_FAILED', message: expect.stringContaining(`format ${later}`) },
  ],
  [
    'a head with a foreign key',
    (store) => edit(store, 'head', '00000001-', '../00000001-'),
    { code: 'STORAGE_FAILED', message: expect.stringContaining('damaged') },
  ],
  [
    'a record that is not JSON',
    (store) => edit(store, 'r:00000001', `"v":${formatVersion}`, '"v"'),
    { code: 'STORAGE_FAILED' },
  ],
  [
    'a record of a later format',
    async (store) => {
      const [key = ''] = await store.keys('s:s:r:00000001');
      await store.set(key, `{"v":${later},"all":"new"}`);
    },
    { code: 'STORAGE_FAILED', message: expect.stringContaining(`format ${later}`) },
  ],
  [
    'a record of an unknown kind',
    (store) => edit(store, 'r:00000001', '"kind":"message"', '"kind":"poem"'),
    { code: 'STORAGE_FAILED' },
  ],
  [
    'an invalid message',
    (store) => edit(store, 'r:00000002', '"role":"user"', '"role":"root"'),
    { code: 'STORAGE_FAILED', details: { key: expect.stringContaining('s:s:r:00000002-') } },
  ],
  [
    'a record that is missing',
    async (store) => store.delete(await store.keys('s:s:r:00000001')),
    { code: 'STORAGE_FAILED', retryable: true },
  ],
];

test.for(damages)(
  'read() reports %s, and the session can be cleared',
  async ([, damage, error]) => {
    const store = new MemoryStore();
    const memory = new SessionMemory(store, 's');
    await memory.append([message('1')]);
    await memory.append([message('2')]);
    await damage(store);

    // This store has no compare-and-set, because a memory with compare-and-set would rebuild the
    // head.
    const reader = new SessionMemory(weakStore(store), 's');
    await expect(reader.read()).rejects.toMatchObject(error);
    await reader.clear();
    expect(await reader.read()).toEqual([]);
    expect(await store.keys('')).toEqual([]);
  },
);

/** Replaces text in the value whose key contains `part`. */
async function edit(store: KeyValueStore, part: string, from: string, to: string): Promise<void> {
  const [key = ''] = (await store.keys('s:s:')).filter((each) => each.includes(part));
  const value = await store.get(key);
  expect(value).toContain(from);
  await store.set(key, (value ?? '').replace(from, to));
}

test('a message that rewrite() stores in place of others is read immediately', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  await memory.append([userMessage('Hi', { id: 'q' }), assistantMessage('No.', { id: 'old' })]);
  await memory.rewrite(['old'], [assistantMessage('Yes.', { id: 'new' })]);
  expect((await memory.read()).map(({ id }) => id)).toEqual(['q', 'new']);
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

test('a removal with `later` is stored together with the next write', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  const [one, two] = [userMessage('One'), userMessage('Two')];
  await memory.append([one]);
  await memory.delete([one.id], { later: true });
  expect(await memory.read()).toEqual([]);
  expect(await new SessionMemory(store, 's').read()).toHaveLength(1);
  await memory.append([two]);
  expect((await new SessionMemory(store, 's').read()).map(({ id }) => id)).toEqual([two.id]);
});
