import { env } from 'cloudflare:workers';
import { userMessage, type Msg } from '@isoloop/core';
import { keyValueStoreConformance, memoryConformance } from '@isoloop/core/testing';
import { expect, test, vi } from 'vitest';
import * as vitest from 'vitest';
import { KvMemory } from './kv-memory.ts';
import { KvStore } from './kv-store.ts';
import { sessionConformance } from '@test/stores/session-conformance.ts';

const kv = (env as { readonly CHAT_KV: KVNamespace }).CHAT_KV;

keyValueStoreConformance(vitest, 'KvStore', () => new KvStore(kv));
sessionConformance(vitest, 'KvStore', () => new KvStore(kv));
memoryConformance(vitest, 'KvMemory', (id) => new KvMemory(kv, id), { persistent: true });
const secrets = ['s'.repeat(32)];
memoryConformance(
  vitest,
  'KvMemory with echoes',
  (id) => new KvMemory(kv, id, { secrets, withoutEcho: 'latest' }),
  { persistent: true },
);

type Put = (key: string, value: string) => Promise<void>;

/**
 * Returns the emulator's namespace with some operations replaced, because the emulator never fails
 * and has no rate limit.
 */
function withFaults(
  faults: Partial<Pick<KVNamespace, 'get' | 'put' | 'list' | 'delete'>>,
): KVNamespace {
  return new Proxy(kv, {
    get: (target, property) => {
      const value: unknown = Reflect.get(property in faults ? faults : target, property);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function newId(): string {
  return `kv-${crypto.randomUUID()}`;
}

test.for([[{}], [{ secrets }]])(
  'a turn (a question and its answer) costs two writes to KV, with %j',
  async ([options]) => {
    const put = vi.fn<Put>((key, value) => kv.put(key, value));
    const id = newId();
    const memory = new KvMemory(withFaults({ put: put as never }), id, options);
    for (let turn = 1; turn <= 3; turn++) {
      for (let step = 0; step < 5; step++) await memory.append([userMessage(`${turn}.${step}`)]);
      expect(put).toHaveBeenCalledTimes(2 * turn - 2);
      await memory.flush();
      expect(put).toHaveBeenCalledTimes(2 * turn);
    }
    expect((await new KvMemory(kv, id).read()).length).toBe(15);
  },
);

test('KvStore lists, reads and deletes more keys than fit in one page', async () => {
  const store = new KvStore(kv);
  const prefix = newId();
  const entries = Array.from(
    { length: 1_050 },
    (_, n) => [`${prefix}:${String(n).padStart(4, '0')}`, String(n)] as const,
  );
  await Promise.all(entries.map(([key, value]) => kv.put(key, value)));
  const keys = await store.keys(prefix);
  expect(keys).toEqual(entries.map(([key]) => key));
  expect([...(await store.getMany(keys)).values()].length).toBe(1_050);
  await store.delete(keys);
  expect(await store.keys(prefix)).toEqual([]);
});

test('KvStore reads values that are too large for one bulk read', async () => {
  const store = new KvStore(kv);
  const keys = ['a', 'b', 'c'].map((suffix) => `${newId()}:${suffix}`);
  const value = JSON.stringify('x'.repeat(12 * 1024 * 1024));
  for (const key of keys) await store.set(key, value);
  const found = await store.getMany(keys);
  expect(keys.map((key) => found.get(key)?.length)).toEqual([
    value.length,
    value.length,
    value.length,
  ]);
  await store.delete(keys);
});

test('KvStore splits, reads and clears a message that is larger than a value may be', async () => {
  const id = newId();
  const message = userMessage('東'.repeat(9 * 1024 * 1024));
  const memory = new KvMemory(kv, id);
  await memory.append([message]);
  await memory.flush();
  const [read] = await new KvMemory(kv, id).read();
  expect(read?.content).toEqual(message.content);
  expect((await new KvStore(kv).keys(`s:${id}:`)).length).toBe(3);
  await memory.clear();
  expect(await new KvStore(kv).keys(`s:${id}:`)).toEqual([]);
});

test('KvStore retries a write that KV rejects for its rate, and gives up after five attempts', async () => {
  let refusals = 4;
  const delays: number[] = [];
  const put = vi.fn<Put>(async (key, value) => {
    if (refusals-- > 0) throw new Error('KV PUT failed: 429 Too Many Requests');
    await kv.put(key, value);
  });
  const key = newId();
  const store = new KvStore(withFaults({ put: put as never }), {
    sleep: async (ms) => void delays.push(ms),
    random: () => 0.5,
  });
  await store.set(key, '1');
  expect(delays).toEqual([1650, 3300, 4950, 6600]);
  expect(put).toHaveBeenCalledTimes(5);
  expect(await store.get(key)).toBe('1');

  refusals = 5;
  await expect(store.set(key, '2')).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    retryable: true,
    details: { status: 429 },
  });
  expect(put).toHaveBeenCalledTimes(10);
});

test('a memory keeps messages whose write failed, and the next flush writes them', async () => {
  let failing = true;
  const put = async (key: string, value: string): Promise<void> => {
    if (failing && key.endsWith(':head'))
      throw new Error('KV PUT failed: 500 Internal Server Error');
    await kv.put(key, value);
  };
  const id = newId();
  const memory = new KvMemory(withFaults({ put: put as never }), id);
  await memory.append([userMessage('one', { id: '1' })]);
  await expect(memory.flush()).rejects.toMatchObject({ code: 'STORAGE_FAILED', retryable: true });
  expect(idsOf(await memory.read())).toEqual(['1']);
  expect(idsOf(await new KvMemory(kv, id).read())).toEqual([]);

  failing = false;
  await memory.append([userMessage('two', { id: '2' })]);
  await memory.flush();
  expect(idsOf(await new KvMemory(kv, id).read())).toEqual(['1', '2']);
});

test('KvStore reports the daily limit of the plan as STORAGE_QUOTA', async () => {
  const put = async (): Promise<void> => {
    throw new Error('KV put() limit exceeded for the day.');
  };
  const store = new KvStore(withFaults({ put: put as never }));
  await expect(store.set(newId(), '1')).rejects.toMatchObject({
    code: 'STORAGE_QUOTA',
    retryable: false,
  });
});

test('failed reads, lists and deletes of KV have error codes', async () => {
  const fail = async (): Promise<never> => {
    throw new Error('KV GET failed: 503 Service Unavailable');
  };
  const store = new KvStore(
    withFaults({ get: fail as never, list: fail as never, delete: fail as never }),
  );
  for (const operation of [
    store.get('a'),
    store.getMany(['a', 'b']),
    store.keys('a'),
    store.delete(['a']),
  ]) {
    await expect(operation).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      retryable: true,
      details: { status: 503 },
    });
  }
});

test('a write that KV rejects as invalid fails with STORAGE_FAILED', async () => {
  const store = new KvStore(kv);
  await expect(store.set('k'.repeat(513), '1')).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    retryable: false,
  });
  await expect(store.set(newId(), 'x'.repeat(25 * 1024 * 1024 + 1))).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    retryable: false,
    details: { status: 413 },
  });
});

test('KvStore passes a time to live to KV, and rejects less than a minute', async () => {
  const key = newId();
  const before = Math.floor(Date.now() / 1000);
  await new KvStore(kv, { expirationTtl: 3600 }).set(key, '1');
  const [entry] = (await kv.list({ prefix: key })).keys;
  expect(entry?.expiration).toBeGreaterThanOrEqual(before + 3600);
  expect(() => new KvStore(kv, { expirationTtl: 59 })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('a memory in KV reads the rest of a session whose oldest messages have expired', async () => {
  const id = newId();
  const memory = new KvMemory(kv, id, { expirationTtl: 3600 });
  for (let turn = 0; turn < 40; turn++) {
    await memory.append([userMessage('', { id: String(turn) })]);
    await memory.flush();
  }
  const keys = (await new KvStore(kv).keys(`s:${id}:r:`)).toSorted();
  await Promise.all(keys.slice(0, 35).map((key) => kv.delete(key)));
  expect(idsOf(await new KvMemory(kv, id, { expirationTtl: 3600 }).read())).toEqual([
    '35',
    '36',
    '37',
    '38',
    '39',
  ]);

  await memory.append([userMessage('', { id: '40' })]);
  await memory.flush();
  expect(idsOf(await new KvMemory(kv, id, { expirationTtl: 3600 }).read()).at(-1)).toBe('40');
  await expect(new KvMemory(kv, id).read()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
});

function idsOf(messages: readonly Msg[]): readonly string[] {
  return messages.map((message) => message.id);
}
