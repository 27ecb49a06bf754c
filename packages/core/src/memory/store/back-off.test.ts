import { expect, test } from 'vitest';
import { MemoryStore, SessionMemory, userMessage } from '@isoloop/core';
import { storedCounters } from '@isoloop/guards';
import { randomOf } from '@test/random-of.ts';

/** Returns a store in which the first compare-and-sets fail, as if another writer were faster. */
function contested(losses: number): MemoryStore {
  const store = new MemoryStore();
  const write = store.compareAndSet.bind(store);
  let left = losses;
  store.compareAndSet = async (...given) => (left-- > 0 ? false : write(...given));
  return store;
}

/** Returns a `sleep` whose waits end in their order, but take no time. */
function virtualSleep(): (ms: number) => Promise<void> {
  let sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  let now = 0;
  const wakeNext = (): void => {
    const next = sleepers.reduce((first, other) => (other.at < first.at ? other : first));
    sleepers = sleepers.filter((sleeper) => sleeper !== next);
    now = next.at;
    next.wake();
  };
  return (ms) =>
    new Promise((wake) => {
      sleepers.push({ at: now + ms, wake });
      setTimeout(wakeNext);
    });
}

test('a writer that keeps losing to others waits longer each time, up to 500 ms, until it can write', async () => {
  const delays: number[] = [];
  const memory = new SessionMemory(contested(60), 's', {
    random: () => 0.5,
    sleep: async (ms) => void delays.push(ms),
  });
  await memory.append([userMessage('Hi')]);
  expect(delays.slice(0, 4)).toEqual([1, 2, 4, 8]);
  expect([delays.length, delays.at(-1)]).toEqual([60, 500]);
});

test('the waits are partly random, so that two writers do not meet again', async () => {
  const waits = await Promise.all(
    [1, 2].map(async (seed) => {
      const delays: number[] = [];
      const sleep = async (ms: number): Promise<void> => void delays.push(ms);
      const memory = new SessionMemory(contested(9), 's', { random: randomOf(seed), sleep });
      await memory.append([userMessage('Hi')]);
      return delays;
    }),
  );
  expect(waits[0]).not.toEqual(waits[1]);
});

test.for([8, 64, 200])('when %s writers write at once, nothing is lost', async (count) => {
  const store = new MemoryStore();
  const sleep = virtualSleep();
  await Promise.all(
    Array.from({ length: count }, (_, n) =>
      new SessionMemory(store, 's', { random: randomOf(n + 1), sleep }).append([
        userMessage(`${n}`),
      ]),
    ),
  );
  const read = await new SessionMemory(store, 's').read();
  expect(new Set(read.map(({ content }) => JSON.stringify(content))).size).toBe(count);
});

test('a writer gives up after many attempts, and the next write stores its records', async () => {
  let isLost = true;
  const store = new MemoryStore();
  const write = store.compareAndSet.bind(store);
  store.compareAndSet = async (...given) => !isLost && write(...given);
  const memory = new SessionMemory(store, 's', { sleep: async () => {} });
  await expect(memory.append([userMessage('Hi')])).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    retryable: true,
  });
  isLost = false;
  await memory.flush();
  expect((await new SessionMemory(store, 's').read()).length).toBe(1);
});

test.for([8, 64, 200])(
  'when %s counters count one key at once, the total is exact',
  async (count) => {
    const store = new MemoryStore();
    const window = { durationMs: 1000, now: 5 };
    const sleep = virtualSleep();
    const counters = Array.from({ length: count }, (_, n) =>
      storedCounters(store, { random: randomOf(n + 1), sleep }),
    );
    await Promise.all(counters.map((each) => each.add('k', 1, window)));
    expect(await counters[0]!.add('k', 0, window)).toMatchObject({ total: count });
  },
);

test.for([{ random: 5 }, { sleep: 'long' }])('the options %j are rejected', (options) => {
  const expected = expect.objectContaining({ code: 'CONFIGURATION' });
  expect(() => new SessionMemory(new MemoryStore(), 's', options as never)).toThrow(expected);
  expect(() => storedCounters(new MemoryStore(), options as never)).toThrow(expected);
});
