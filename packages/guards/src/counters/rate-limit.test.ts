import { expect, test, vi } from 'vitest';
import { checkInput, rejectionOf } from '@test/support/check-input.ts';
import {
  type Middleware,
  type AgentResult,
  type Usage,
  ReActAgent,
  userMessage,
  MemoryStore,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { inMemoryCounters, storedCounters, type CounterStore } from './counter-store.ts';
import { rateLimit, type RateLimitOptions } from './rate-limit.ts';
import { spendCap } from './spend-cap.ts';

const input = [userMessage('Hi')];

function limited(options: RateLimitOptions = {}) {
  const clock = { now: 1_000_000 };
  const guard = rateLimit({ now: () => clock.now, ...options });
  const verdicts = async (count: number, userId?: string): Promise<string> => {
    let said = '';
    for (let call = 0; call < count; call++)
      said += await checkInput([guard], input, { userId }).then(
        () => '+',
        () => '-',
      );
    return said;
  };
  return { clock, guard, verdicts };
}

const stores: readonly [string, () => CounterStore][] = [
  ['memory', () => inMemoryCounters()],
  ['a key-value store', () => storedCounters(new MemoryStore())],
];

test.each(stores)(
  'rateLimit() allows ten calls a minute per user and counts rejected calls, with counters in %s',
  async (_name, store) => {
    const { clock, guard, verdicts } = limited({ store: store() });
    expect(await verdicts(11, 'ann')).toBe('++++++++++-');
    expect(await verdicts(1, 'bob')).toBe('+');
    expect(await verdicts(1)).toBe('+');
    clock.now += 59_999;
    expect(await rejectionOf(checkInput([guard], input, { userId: 'ann' }))).toMatchObject({
      details: { category: 'RATE_LIMITED', retryAfterMs: 1 },
    });
    clock.now += 1;
    expect(await verdicts(11, 'ann')).toBe('++++++++++-');
  },
);

test('rateLimit() allows a hundred calls an hour; calls that the minute limit rejected do not count', async () => {
  const { clock, verdicts } = limited();
  for (let minute = 0; minute < 10; minute++) {
    expect(await verdicts(12, 'ann')).toBe('++++++++++--');
    clock.now += 60_000;
  }
  expect(await verdicts(1, 'ann')).toBe('-');
  clock.now += 3_600_000;
  expect(await verdicts(1, 'ann')).toBe('+');
});

test('a call without a user counts for the user "anonymous", and `key` replaces the user', async () => {
  const { verdicts } = limited({ perMinute: 1 });
  expect((await verdicts(1)) + (await verdicts(1, 'anonymous'))).toBe('+-');
  const shared = limited({ perMinute: 1, key: () => 'all' });
  expect((await shared.verdicts(1, 'ann')) + (await shared.verdicts(1, 'bob'))).toBe('+-');
});

test('after the clock was set back, rateLimit() still accepts calls', async () => {
  const { clock, verdicts } = limited({ perMinute: 1 });
  expect(await verdicts(2, 'ann')).toBe('+-');
  clock.now -= 500_000;
  expect(await verdicts(2, 'ann')).toBe('+-');
});

test('a store that fails, an invalid count and an invalid key reject the call', async () => {
  const onError = vi.fn();
  const withoutTotals = new MemoryStore();
  withoutTotals.get = async () => JSON.stringify({ total: 'x', endsAt: 1 });
  withoutTotals.compareAndSet = async () => true;
  const guards = [
    rateLimit({ onError, store: { add: () => Promise.reject(new Error('down')) } }),
    rateLimit({ onError, store: { add: () => ({}) as never } }),
    rateLimit({ onError, store: { add: () => ({ total: Number.NaN, endsAt: 0 }) } }),
    rateLimit({ onError, key: () => undefined as never }),
    rateLimit({ onError, now: () => 0, store: storedCounters(withoutTotals) }),
    spendCap({ onError, limit: 5, store: { add: () => ({ total: 'x' }) as never } }),
  ];
  for (const guard of guards)
    expect((await rejectionOf(checkInput([guard], input))).code).toBe('GUARD_REJECTED');
  expect(onError).toHaveBeenCalledTimes(guards.length);
});

test('inMemoryCounters() keeps at most `maxKeys` counters and removes the oldest', async () => {
  const store = inMemoryCounters({ maxKeys: 2 });
  const total = async (key: string, amount: number) =>
    (await store.add(key, amount, { durationMs: 10, now: 0 })).total;
  await total('a', 1);
  await total('b', 1);
  expect(await total('a', 1)).toBe(2);
  await total('c', 1);
  expect([await total('a', 0), await total('b', 0), await total('c', 0)]).toEqual([0, 1, 1]);
});

test('a counter whose window starts again becomes the newest counter', async () => {
  const store = inMemoryCounters({ maxKeys: 2 });
  const total = async (key: string, amount: number, now: number) =>
    (await store.add(key, amount, { durationMs: 10, now })).total;
  await total('a', 1, 0);
  await total('b', 1, 5);
  await total('a', 1, 10);
  await total('c', 1, 11);
  expect([await total('a', 0, 12), await total('b', 0, 12)]).toEqual([1, 0]);
});

test('reading a counter writes nothing, and a call without cost is not counted', async () => {
  const kv = new MemoryStore();
  const store = storedCounters(kv);
  expect(await store.add('k', 0, { durationMs: 10, now: 0 })).toEqual({ total: 0, endsAt: 10 });
  const cap = spendCap({ limit: 1, store, price: () => 1 });
  await spend(cap, { inputTokens: 0, outputTokens: 0 });
  expect(await kv.keys('')).toEqual([]);
});

test('storedCounters() counts concurrent calls of several writers, with any characters in the key', async () => {
  const kv = new MemoryStore();
  const one = storedCounters(kv);
  const other = storedCounters(kv);
  const window = { durationMs: 1000, now: 5 };
  const key = 'user 한국 \u0000/:';
  await Promise.all(
    Array.from({ length: 20 }, (_unused, index) => (index % 2 ? one : other).add(key, 1, window)),
  );
  expect(await one.add(key, 0, window)).toEqual({ total: 20, endsAt: 1005 });
  const plain = new MemoryStore();
  const { get, set } = { get: plain.get.bind(plain), set: plain.set.bind(plain) };
  const without = storedCounters({ get, set } as never);
  await Promise.all(Array.from({ length: 20 }, () => without.add('k', 1, window)));
  expect(await without.add('k', 0, window)).toMatchObject({ total: 20 });
});

test('a write that fails does not block the next write', async () => {
  const kv = new MemoryStore();
  const get = kv.get.bind(kv);
  let reads = 0;
  const store = storedCounters(
    Object.assign(kv, {
      get: (key: string) => (reads++ ? get(key) : Promise.reject(new Error('down'))),
    }),
  );
  const add = async () => store.add('k', 1, { durationMs: 9, now: 0 });
  const ends = await Promise.allSettled([add(), add()]);
  expect(ends).toMatchObject([
    { status: 'rejected' },
    { status: 'fulfilled', value: { total: 1 } },
  ]);
});

test('spendCap() adds up the tokens of calls, including failed calls, until the window ends', async () => {
  const clock = { now: 0 };
  const cap = spendCap({ limit: 30, windowMs: 1000, now: () => clock.now });
  const agentOf = (replies: ConstructorParameters<typeof ScriptedModel>[0]) =>
    new ReActAgent({
      name: 'a',
      userId: 'ann',
      model: new ScriptedModel(replies),
      use: [cap],
    });
  const usage = { inputTokens: 9, outputTokens: 6 };
  const broken = {
    deltas: [[{ type: 'finish', reason: 'stop', usage }]],
    error: new Error('broken'),
  } as const;
  await expect(agentOf([broken]).call('Hi')).rejects.toThrow('broken');
  const agent = agentOf(['one', 'three']);
  expect(await agent.call('Hi')).toMatchObject({ text: 'one' });
  clock.now = 400;
  expect(await agent.call('Hi')).toMatchObject({
    reason: 'rejected',
    error: { retryable: true, details: { retryAfterMs: 600 } },
  });
  clock.now = 1000;
  expect(await agent.call('Hi')).toMatchObject({ text: 'three' });
});

test('spendCap() counts money with `price`; a price that throws or is invalid uses up the whole limit', async () => {
  const prices: unknown[] = [];
  const priced = spendCap({
    limit: 1.2,
    price: ({ inputTokens, outputTokens }, modelId) => (
      prices.push(modelId),
      inputTokens * 0.01 + outputTokens * 0.08
    ),
  });
  const usage = { inputTokens: 10, outputTokens: 5 };
  const reasons = [];
  for (let call = 0; call < 4; call++) reasons.push((await spend(priced, usage)).reason);
  expect(reasons).toEqual(['stop', 'stop', 'stop', 'rejected']);
  expect(prices).toEqual(['m', 'm', 'm']);

  const throws = (): number => {
    throw new Error('no price');
  };
  for (const price of [() => Number.NaN, () => -1, () => Infinity, () => 'x' as never, throws]) {
    const onError = vi.fn();
    const cap = spendCap({ limit: 1, price, onError });
    expect((await spend(cap, usage)).reason).toBe('stop');
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.any(Error), 'spendCap');
    expect((await spend(cap, usage)).reason).toBe('rejected');
    expect((await spend(cap, usage, 'bob')).reason).toBe('stop');
  }
});

/** Makes one agent call with this usage. */
function spend(cap: Middleware, usage: Usage, userId = 'ann'): Promise<AgentResult> {
  const model = new ScriptedModel([{ text: 'Hello.', usage }], { modelId: 'm' });
  return new ReActAgent({ name: 'a', userId, model, use: [cap] }).call('Hi');
}

test.each<[string, () => unknown]>([
  ['rateLimit(): perMinute', () => rateLimit({ perMinute: -1 })],
  ['rateLimit(): perHour', () => rateLimit({ perHour: Number.NaN })],
  ['rateLimit(): store', () => rateLimit({ store: {} as never })],
  ['spendCap(): limit', () => spendCap({} as never)],
  ['spendCap(): price', () => spendCap({ limit: 1, price: 5 as never })],
  ['The store of storedCounters(): get', () => storedCounters({} as never)],
  ['inMemoryCounters(): maxKeys', () => inMemoryCounters({ maxKeys: 'x' as never })],
])('a CONFIGURATION error names the invalid option: %s', (message, make) => {
  expect(make).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining(message) as string,
    }),
  );
});
