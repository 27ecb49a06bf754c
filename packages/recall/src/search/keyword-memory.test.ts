import { expect, test, vi } from 'vitest';
import { AgentError, assistantMessage, toolMessage, userMessage, MemoryStore } from '@isoloop/core';
import { keywordMemory, type KeywordMemoryOptions } from './keyword-memory.ts';
import type { LongTermMemory } from '../long-term-store.ts';

const say = (memory: LongTermMemory, text: string, sessionId = 's'): Promise<void> =>
  memory.record([userMessage(text)], { sessionId });
const find = async (memory: LongTermMemory, query: string): Promise<readonly string[]> =>
  (await memory.retrieve(query, { limit: 10 })).map(({ text }) => text.replace('user: ', ''));

function open(options: Partial<KeywordMemoryOptions> = {}): {
  store: MemoryStore;
  memory: LongTermMemory;
  again: () => LongTermMemory;
} {
  const store = new MemoryStore();
  let time = Date.UTC(2026, 0, 2);
  const again = (): LongTermMemory => keywordMemory({ store, now: () => time++, ...options });
  return { store, memory: again(), again };
}

test.for([
  ['Where does my sister live?', 'My sister lives in Lisbon.'],
  ['dogs', 'Rex is a good dog.'],
  ['ALLERGIC', 'Allergic to peanuts.'],
  ['alergic', 'Allergic to peanuts.'],
  ['photo', 'She studies photography.'],
  ['cafe', 'The best café is on Main Street.'],
  ['我的猫叫什么名字？', '我养了一只猫，名字叫小白。'],
  ['東京の天気', '先週は東京に出張しました。'],
  ['猫', '黒猫を飼っています。'],
  ['ラーメン', '好物はﾗｰﾒﾝです。'],
  ['りんごは好き？', 'りんごをたくさん食べる。'],
  ['학교', '저는 매일 학교에서 점심을 먹어요.'],
  ['학교가 어디예요?', '우리 학교는 부산에 있습니다.'],
  ['집', '집에 가고 싶어요.'],
  ['Москва', 'Лето было в москве.'],
] as const)('the query %j finds the record %j among others', async ([query, expected]) => {
  const { memory } = open();
  for (const text of [
    'The invoice was paid in March.',
    '明日は会議です。',
    '请把文件发给他。',
    '오늘은 날씨가 좋습니다.',
    expected,
  ]) {
    await say(memory, text);
  }
  expect((await find(memory, query))[0]).toBe(expected);
});

test.for([
  ['What is it?'],
  ['什么是这个？'],
  ['それはなんですか'],
  ['음'],
  [''],
  ['?!'],
  ['unrelated'],
])('the query %j finds nothing if no record matches', async ([query = '']) => {
  const { memory } = open();
  for (const text of [
    'My sister lives in Lisbon.',
    '我养了一只猫。',
    '東京に出張しました。',
    '학교에서 점심을 먹어요.',
  ])
    await say(memory, text);
  expect(await find(memory, query)).toEqual([]);
});

test('a record contains the texts of one turn with speakers, time and session', async () => {
  const { memory } = open({ generateId: () => 'id' });
  const image = {
    type: 'image',
    source: { type: 'url', url: 'https://example.com/a.png' },
  } as const;
  const messages = [
    userMessage([image, { type: 'text', text: 'My cat is Momo.' }], { name: 'Ann' }),
    assistantMessage([{ type: 'tool_use', id: 'c', name: 't', input: {} }]),
    toolMessage({
      type: 'tool_result',
      toolUseId: 'c',
      name: 't',
      output: 'secret',
      state: 'success',
    }),
    assistantMessage([
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'Hello, Momo!' },
    ]),
  ];
  await memory.record(messages, { sessionId: 's/1' });
  await memory.record([userMessage([image])], { sessionId: 's/1' });
  expect(await memory.retrieve('momo')).toEqual([
    {
      id: expect.stringMatching(/^s%2F1:.*-id$/),
      text: 'Ann: My cat is Momo.\nassistant: Hello, Momo!',
      sessionId: 's/1',
      createdAt: '2026-01-02T00:00:00.000Z',
      score: expect.any(Number),
    },
  ]);
  expect(await memory.retrieve('user assistant')).toEqual([]);
});

test('retrieve() returns the best records first, then the newest, up to the limit', async () => {
  const { memory } = open();
  for (const text of ['tea', 'tea once', 'tea twice', 'green tea', 'coffee'])
    await say(memory, text);
  expect((await find(memory, 'green tea'))[0]).toBe('green tea');
  expect((await find(memory, 'tea')).slice(1)).toEqual(['green tea', 'tea twice', 'tea once']);
  expect((await memory.retrieve('tea', { limit: 2 })).length).toBe(2);
});

test('namespaces are separate, and a search can be limited to a session or exclude a session', async () => {
  const { store, memory } = open();
  const other = keywordMemory({ store, namespace: 'default:s' });
  await say(memory, 'tea at home', 'home');
  await say(memory, 'tea at work', 'work');
  await say(other, 'tea elsewhere', 'home');
  const texts = async (options: object): Promise<readonly string[]> =>
    (await memory.retrieve('tea', options)).map(({ text }) => text.slice(6)).sort();
  expect(await texts({})).toEqual(['tea at home', 'tea at work']);
  expect(await texts({ sessionId: 'home' })).toEqual(['tea at home']);
  expect(await texts({ exceptSessionId: 'home' })).toEqual(['tea at work']);
  await memory.clear();
  expect(await find(memory, 'tea')).toEqual([]);
  expect(await find(other, 'tea')).toEqual(['tea elsewhere']);
});

test("two memories on one store see each other's records and deletions", async () => {
  const { memory, again } = open();
  const other = again();
  await say(memory, 'tea one');
  expect(await find(other, 'tea')).toEqual(['tea one']);
  await say(other, 'tea two');
  expect(await find(memory, 'tea')).toEqual(['tea two', 'tea one']);
  const [newest] = await memory.retrieve('tea');
  await memory.delete([newest?.id ?? '', 'unknown', '../x']);
  expect(await find(other, 'tea')).toEqual(['tea one']);
  await other.deleteSession('s');
  expect(await find(memory, 'tea')).toEqual([]);
});

test('recording makes one write, and a later retrieval reads only new records', async () => {
  const { store, memory } = open();
  const setMany = vi.spyOn(store, 'setMany');
  const getMany = vi.spyOn(store, 'getMany');
  const reads = vi.spyOn(store, 'get');
  const keys = vi.spyOn(store, 'keys');
  for (let n = 0; n < 100; n++) await say(memory, `tea ${n}`);
  expect(setMany.mock.calls.map(([entries]) => entries.length)).toEqual(
    Array.from({ length: 100 }, () => 1),
  );
  expect([reads, getMany, keys].map((each) => each.mock.calls.length)).toEqual([0, 0, 0]);

  const other = keywordMemory({ store });
  await find(other, 'tea');
  await say(memory, 'tea again');
  await find(other, 'tea');
  expect(getMany.mock.calls.map(([wanted]) => wanted.length)).toEqual([100, 1]);
});

test('deleting a session deletes all its values from the store, even those of large records and failed writes', async () => {
  const store = new MemoryStore({ maxValueBytes: 100 });
  const memory = keywordMemory({ store });
  await say(memory, `tea ${'x'.repeat(1_000)}`, 's');
  await say(memory, 'tea', 's:2');
  const kept = (await store.keys('')).filter((key) => key.includes('s%3A2'));
  await store.set('ltm:default:s:0000-orphan~3:2', '""');
  expect((await store.keys('')).length).toBeGreaterThan(10);
  expect((await find(memory, 'tea')).length).toBe(2);
  // This record is written just before the deletion, and must not reappear after it.
  const late = say(memory, 'tea late', 's');
  await keywordMemory({ store }).deleteSession('nobody');
  await Promise.all([late, memory.deleteSession('s')]);
  expect(await store.keys('')).toEqual(kept);
  expect((await find(memory, 'tea')).length).toBe(1);
});

test('a large record is split, and a search finds it', async () => {
  const store = new MemoryStore({ maxValueBytes: 64 });
  const text = `tea ${'東京'.repeat(100)}`;
  await say(keywordMemory({ store }), text);
  expect(await find(keywordMemory({ store }), 'tea')).toEqual([text]);
});

test('the values of a record are written from last to first, so that the first value implies that all others exist', async () => {
  const store = new MemoryStore({ maxValueBytes: 64 });
  const setMany = vi.spyOn(store, 'setMany');
  await say(keywordMemory({ store }), 'tea '.repeat(30));
  const keys = setMany.mock.calls[0]![0].map(([key]) => key);
  expect(keys.length).toBeGreaterThan(2);
  expect(keys.map((key) => /~\d+:(\d+)$/.exec(key)?.[1] ?? '0')).toEqual(
    keys.map((_, index) => String(keys.length - 1 - index)),
  );
});

test('deleting a session also deletes a record that is being written', async () => {
  const { store, memory, again } = open();
  let write = (): void => {};
  const written = new Promise<void>((resolve) => (write = resolve));
  vi.spyOn(store, 'setMany').mockImplementationOnce((entries) =>
    written.then(() => MemoryStore.prototype.setMany.call(store, entries)),
  );
  const done = Promise.all([say(memory, 'tea'), memory.deleteSession('s')]);
  write();
  await done;
  expect(await store.keys('')).toEqual([]);
  expect(await find(again(), 'tea')).toEqual([]);
});

test('a record that was read before its deletion is not returned', async () => {
  const { store, memory, again } = open();
  await say(memory, 'tea');
  const other = again();
  let read = (): void => {};
  const reading = new Promise<void>((resolve) => (read = resolve));
  const started = new Promise<void>((resolve) =>
    vi.spyOn(store, 'getMany').mockImplementationOnce(async (keys) => {
      const values = await MemoryStore.prototype.getMany.call(store, keys);
      resolve();
      await reading;
      return values;
    }),
  );
  const found = find(other, 'tea');
  await started;
  await other.deleteSession('s');
  read();
  expect(await found).toEqual([]);
});

/** A store whose listing shows writes and deletions only after `catchUp`. */
class LaggingStore extends MemoryStore {
  #listed: readonly string[] = [];
  async catchUp(): Promise<void> {
    this.#listed = await super.keys('');
  }
  override async keys(prefix: string): Promise<readonly string[]> {
    return this.#listed.filter((key) => key.startsWith(prefix));
  }
}

/** A lagging store that also still reads deleted values. */
class StaleStore extends LaggingStore {
  readonly #seen = new Map<string, string>();
  override async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    for (const [key, value] of await super.getMany(keys)) this.#seen.set(key, value);
    return new Map(
      keys.flatMap((key) => (this.#seen.has(key) ? [[key, this.#seen.get(key)!] as const] : [])),
    );
  }
}

test('a deleted record does not reappear if the store still lists and reads it', async () => {
  const store = new StaleStore();
  const memory = keywordMemory({ store });
  const other = keywordMemory({ store });
  await say(other, 'tea');
  await store.catchUp();
  expect(await find(memory, 'tea')).toEqual(['tea']);
  await memory.deleteSession('s');
  expect(await find(memory, 'tea')).toEqual([]);
});

test('on a store whose listing lags, a memory sees its own changes immediately', async () => {
  const store = new LaggingStore();
  const memory = keywordMemory({ store });
  const other = keywordMemory({ store });
  await say(memory, 'tea');
  expect(await find(memory, 'tea')).toEqual(['tea']);
  expect(await find(other, 'tea')).toEqual([]);
  await store.catchUp();
  expect(await find(other, 'tea')).toEqual(['tea']);
  await memory.deleteSession('s');
  expect(await find(memory, 'tea')).toEqual([]);
  await store.catchUp();
  expect(await find(memory, 'tea')).toEqual([]);
  expect(await find(other, 'tea')).toEqual([]);

  await say(memory, 'tea that no listing has yet');
  await memory.deleteSession('s');
  await store.catchUp();
  expect(await find(other, 'tea')).toEqual([]);
});

test('the oldest records are deleted if there are more than `maxRecords`', async () => {
  const { store, memory, again } = open({ maxRecords: 3 });
  for (let n = 0; n < 5; n++) await say(memory, `tea ${n}`, `s${n % 2}`);
  expect(await find(again(), 'tea')).toEqual(['tea 4', 'tea 3', 'tea 2']);
  expect((await store.keys('')).length).toBe(3);
  expect(await find(memory, 'tea')).toEqual(['tea 4', 'tea 3', 'tea 2']);
});

test.for([
  ['not JSON', '{"v":1', 'cannot be read'],
  ['not an object', '7', 'format undefined'],
  ['not a record', '{"v":1,"sessionId":"s"}', 'cannot be read'],
  [
    'a record with invalid parts',
    '{"v":1,"sessionId":"s","createdAt":"2026","parts":[null]}',
    'cannot be read',
  ],
  ['of a later format', '{"v":2}', 'format 2'],
] as const)(
  'a stored value that is %s is reported once, skipped, and can be deleted',
  async ([, value, told]) => {
    const onError = vi.fn<(error: AgentError) => void>();
    const { store, memory, again } = open({ onError });
    await say(memory, 'tea one');
    await say(memory, 'tea two');
    const [key = ''] = await store.keys('');
    await store.set(key, value);
    const other = again();
    expect(await find(other, 'tea')).toEqual(['tea two']);
    expect(await find(other, 'tea')).toEqual(['tea two']);
    expect(onError.mock.calls.map(([error]) => error)).toMatchObject([
      { code: 'STORAGE_FAILED', message: expect.stringContaining(told), details: { key } },
    ]);
    await other.deleteSession('s');
    expect(await store.keys('')).toEqual([]);
  },
);

test('a store that fails rejects with its error code, and later calls work', async () => {
  const { store, memory } = open();
  vi.spyOn(store, 'setMany').mockRejectedValueOnce(new AgentError('STORAGE_QUOTA', 'full'));
  vi.spyOn(store, 'keys').mockRejectedValueOnce(new Error('gone'));
  vi.spyOn(store, 'delete').mockRejectedValueOnce(new Error('gone'));
  await expect(say(memory, 'tea')).rejects.toMatchObject({ code: 'STORAGE_QUOTA' });
  await say(memory, 'tea');
  await expect(find(memory, 'tea')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  await expect(memory.deleteSession('s')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(await find(memory, 'tea')).toEqual(['tea']);

  const other = keywordMemory({ store });
  vi.spyOn(store, 'delete').mockRejectedValueOnce(new Error('gone'));
  await expect(other.clear()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(await find(other, 'tea')).toEqual(['tea']);
});

test('an abort ends only its own retrieval, and another retrieval gets its result', async () => {
  const { store, memory } = open();
  await say(memory, 'tea');
  let answer = (): void => {};
  vi.spyOn(store, 'keys').mockImplementationOnce(
    (prefix) =>
      new Promise(
        (resolve) => (answer = () => resolve(MemoryStore.prototype.keys.call(store, prefix))),
      ),
  );
  const abort = new AbortController();
  const first = memory.retrieve('tea', { signal: abort.signal });
  const second = find(memory, 'tea');
  abort.abort();
  await expect(first).rejects.toMatchObject({ code: 'ABORTED' });
  answer();
  expect(await second).toEqual(['tea']);
  await expect(
    memory.record([userMessage('x')], { sessionId: 's', signal: abort.signal }),
  ).rejects.toThrow(AgentError);
});

test('keywordMemory() rejects values that cannot be part of a key', async () => {
  const store = new MemoryStore();
  for (const namespace of ['', '\ud800', 'x'.repeat(201)]) {
    expect(() => keywordMemory({ store, namespace })).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    );
  }
  for (const maxRecords of [0, -1, 1.5, Number.NaN]) {
    expect(() => keywordMemory({ store, maxRecords })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  }
  for (const sessionId of ['', '\ud800', '会'.repeat(100)]) {
    await expect(say(keywordMemory({ store }), 'tea', sessionId)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  }
  await expect(say(keywordMemory({ store, generateId: () => 'a:b' }), 'tea')).rejects.toMatchObject(
    { code: 'INVALID_INPUT' },
  );

  await say(
    keywordMemory({ store, namespace: 'n'.repeat(200), generateId: () => 'i'.repeat(40) }),
    'tea',
    's'.repeat(234),
  );
  const [key = ''] = await store.keys('');
  expect(key.length).toBeLessThan(500);
  expect(key).toMatch(/^[!-~]+$/);
});

test.each([undefined, null, {}, { store: {} }, { store: new MemoryStore(), onError: 5 }])(
  'keywordMemory() rejects the options %o',
  (options) => {
    expect(() => keywordMemory(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  },
);
