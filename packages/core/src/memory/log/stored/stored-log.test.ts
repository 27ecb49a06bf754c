import { expect, test } from 'vitest';
import { AgentError } from '../../../error/agent-error.ts';
import { idsOf, message } from '@test/support/messages.ts';
import type { KeyValueStore } from '../../store/key-value-store.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { SessionMemory } from '../../session-memory.ts';
import { lies, lyingStore } from '@test/stores/lying-store.ts';
import { weakStore } from '@test/support/weak-store.ts';

/** Replaces a store operation. `proceed` executes the original operation. */
type Intercept = <T>(operation: string, proceed: () => Promise<T>) => Promise<T>;

/**
 * Creates a store that intercepts each operation. A `weak` store has no compare-and-set and writes
 * several values one after the other.
 */
function intercepted(store: MemoryStore, weak: boolean, intercept: Intercept): KeyValueStore {
  const set = (key: string, value: string): Promise<void> =>
    intercept('set', () => store.set(key, value));
  return {
    features: { ...store.features, atomic: !weak, compareAndSet: !weak },
    get: (key) => intercept('get', () => store.get(key)),
    getMany: (keys) => intercept('getMany', () => store.getMany(keys)),
    set,
    setMany: async (entries) => {
      if (!weak) return intercept('setMany', () => store.setMany(entries));
      for (const [key, value] of entries) await set(key, value);
    },
    delete: (keys) => intercept('delete', () => store.delete(keys)),
    keys: (prefix) => intercept('keys', () => store.keys(prefix)),
    ...(weak
      ? {}
      : {
          compareAndSet: (key: string, expected: string | undefined, value: string) =>
            intercept('compareAndSet', () => store.compareAndSet(key, expected, value)),
        }),
  };
}

const kinds = [
  ['a store with compare-and-set', false],
  ['a store without compare-and-set', true],
] as const;

test.for(kinds)(
  'with %s, each message is stored once, whichever operation fails, before or after it took effect',
  async ([, weak]) => {
    for (const takesEffect of [false, true]) {
      for (let failing = 0; failing < 30; failing++) {
        const store = new MemoryStore({ maxValueBytes: 150 });
        let operations = 0;
        let failures = 0;
        const intercept: Intercept = async (_operation, proceed) => {
          const fails = operations++ === failing;
          if (!fails) return proceed();
          failures++;
          if (takesEffect) await proceed();
          throw new AgentError('STORAGE_FAILED', 'lost');
        };
        const memory = new SessionMemory(intercepted(store, weak, intercept), 's');
        let rejected = 0;
        const count = (error: unknown): void => {
          expect(error).toMatchObject({ code: 'STORAGE_FAILED' });
          rejected++;
        };
        for (let n = 1; n <= 5; n++) {
          await memory.append([message(`${n}`)]).catch(count);
          await memory.flush().catch(count);
          expect(idsOf(await memory.read())).toEqual(
            Array.from({ length: n }, (_, index) => `${index + 1}`),
          );
        }
        await memory.delete(['2']).catch(count);
        await memory.flush();
        expect(rejected).toBe(failures);
        expect(idsOf(await memory.read())).toEqual(['1', '3', '4', '5']);
        expect(idsOf(await new SessionMemory(store, 's').read())).toEqual(['1', '3', '4', '5']);
      }
    }
  },
);

test('if the store is full, messages stay in the conversation and are written when the store has room again', async () => {
  const store = new MemoryStore();
  let full = false;
  const intercept: Intercept = (operation, proceed) => {
    if (full && operation === 'setMany')
      return Promise.reject(new AgentError('STORAGE_QUOTA', 'full'));
    return proceed();
  };
  const memory = new SessionMemory(intercepted(store, false, intercept), 's');
  await memory.append([message('1')]);
  full = true;
  await expect(memory.append([message('2')])).rejects.toMatchObject({ code: 'STORAGE_QUOTA' });
  await expect(memory.append([message('3')])).rejects.toMatchObject({ code: 'STORAGE_QUOTA' });
  expect(idsOf(await memory.read())).toEqual(['1', '2', '3']);
  expect(memory.sessionVersion).toBe(1);
  full = false;
  await memory.flush();
  expect(idsOf(await new SessionMemory(store, 's').read())).toEqual(['1', '2', '3']);
  expect(memory.sessionVersion).toBe(2);
});

test('if the store cannot be read, messages are kept for a later write', async () => {
  const store = new MemoryStore();
  await new SessionMemory(store, 's').append([message('1')]);
  let down = true;
  const intercept: Intercept = (_operation, proceed) =>
    down ? Promise.reject(new Error('network')) : proceed();
  const memory = new SessionMemory(intercepted(store, true, intercept), 's');
  await expect(memory.append([message('2')])).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: 'network',
  });
  down = false;
  await memory.flush();
  expect(idsOf(await memory.read())).toEqual(['1', '2']);
  expect(idsOf(await new SessionMemory(store, 's').read())).toEqual(['1', '2']);
});

test('with compare-and-set, concurrent writers lose no messages', async () => {
  const store = new MemoryStore();
  const writers = ['a', 'b', 'c'].map((name) => ({ name, memory: new SessionMemory(store, 's') }));
  for (let n = 0; n < 40; n++)
    await Promise.all(writers.map(({ name, memory }) => memory.append([message(`${name}${n}`)])));
  const read = idsOf(await new SessionMemory(store, 's').read());
  expect(read.length).toBe(120);
  for (const { name } of writers)
    expect(read.filter((id) => id.startsWith(name))).toEqual(
      Array.from({ length: 40 }, (_, n) => `${name}${n}`),
    );
  expect((await store.keys('s:s:r:')).length).toBe(120);
});

test('without compare-and-set, a writer whose head was overwritten adds its records again at its next flush', async () => {
  const store = new MemoryStore();
  await new SessionMemory(store, 's').append([message('1')]);
  const a = new SessionMemory(intercepted(store, true, direct), 's');
  const b = new SessionMemory(intercepted(store, true, direct), 's');
  await Promise.all([a.read(), b.read()]);
  await Promise.all([a.append([message('a2')]), b.append([message('b2')])]);
  const between = idsOf(await new SessionMemory(store, 's').read());
  expect([
    ['1', 'a2'],
    ['1', 'b2'],
  ]).toContainEqual(between);

  const loser = between.includes('a2') ? b : a;
  await loser.append([message('3')]);
  expect(idsOf(await new SessionMemory(store, 's').read()).toSorted()).toEqual([
    '1',
    '3',
    'a2',
    'b2',
  ]);
  expect(idsOf(await loser.read())).toEqual(idsOf(await new SessionMemory(store, 's').read()));
});

test('a delayed read of the head does not undo newer writes', async () => {
  const store = new MemoryStore();
  const heads: string[] = [];
  let stale = 0;
  const late: KeyValueStore = {
    ...intercepted(store, true, direct),
    get: async (key) => (stale > 0 ? heads.at(-1 - stale) : store.get(key)),
    setMany: async (entries) => {
      await store.setMany(entries);
      heads.push(...entries.filter(([key]) => key === 's:s:head').map(([, value]) => value));
    },
  };
  const memory = new SessionMemory(late, 's');
  for (let n = 1; n <= 50; n++) {
    stale = n > 45 ? 40 : n > 5 ? 3 : 0;
    await memory.append([message(String(n))]);
  }
  const all = Array.from({ length: 50 }, (_, n) => String(n + 1));
  expect(idsOf(await memory.read())).toEqual(all);
  expect(idsOf(await new SessionMemory(store, 's').read())).toEqual(all);
  expect(memory.sessionVersion).toBe(50);
});

test.for(kinds)('with %s, a session that another writer cleared starts empty', async ([, weak]) => {
  const store = new MemoryStore();
  const open = (): SessionMemory => new SessionMemory(intercepted(store, weak, direct), 's');
  const memory = open();
  await memory.append([message('1')]);
  const other = open();
  await other.clear();
  await memory.append([message('2')]);
  expect(idsOf(await memory.read())).toEqual(['2']);
  expect(idsOf(await open().read())).toEqual(['2']);

  await other.clear();
  await other.append([message('3')]);
  await memory.append([message('4')]);
  expect(idsOf(await memory.read())).toEqual(['3', '4']);
  expect(idsOf(await open().read())).toEqual(['3', '4']);
});

test('a write that loses every race against other writers is reported', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(
    { ...intercepted(store, false, direct), compareAndSet: async () => false },
    's',
    { sleep: async () => {} },
  );
  await expect(memory.append([message('1')])).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    retryable: true,
  });
  expect(await store.keys('')).toEqual([]);
});

test.for(lies.flatMap((lie) => [false, true].map((atOnce) => [lie, atOnce] as const)))(
  'if the store %s while a log is compacted, no message is lost or stored twice (setManyIf: %s)',
  async ([lie, atOnce]) => {
    const store = new MemoryStore();
    const inner: KeyValueStore = atOnce ? withSetManyIf(store) : store;
    for (const id of ['1', '2', '3']) await new SessionMemory(inner, 's').append([message(id)]);
    const lying = lyingStore(inner, lie, 0);
    const options = { compactAfter: 2, sleep: async () => {} };
    const memory = new SessionMemory(lying.store, 's', options);
    await memory.read();
    for (const id of ['4', '5']) await memory.append([message(id)]).catch(() => {});
    await memory.flush().catch(() => {});
    await memory.flush();
    expect(lying.hasLied()).toBe(true);
    expect(idsOf(await new SessionMemory(inner, 's').read())).toEqual(['1', '2', '3', '4', '5']);
  },
);

test('with setManyIf, a wrong answer of the store stores no message twice', async () => {
  for (const lie of lies) {
    const inner = withSetManyIf(new MemoryStore());
    const memory = new SessionMemory(lyingStore(inner, lie, 1).store, 's', {
      sleep: async () => {},
    });
    const codes: string[] = [];
    for (const id of ['1', '2', '3'])
      await memory.append([message(id)]).catch(({ code }: AgentError) => void codes.push(code));
    await memory.flush();
    expect(idsOf(await new SessionMemory(inner, 's').read())).toEqual(['1', '2', '3']);
    const isSeen = lie === 'lost the answer' || lie === 'said yes but did not write';
    expect(codes).toEqual(isSeen ? ['STORAGE_FAILED'] : []);
  }
});

function withSetManyIf(store: MemoryStore): KeyValueStore {
  return Object.assign(store, {
    setManyIf: async (
      ...[key, expected, entries]: Parameters<NonNullable<KeyValueStore['setManyIf']>>
    ) => {
      if ((await store.get(key)) !== expected) return false;
      await store.setMany(entries);
      return true;
    },
  });
}

function direct<T>(_operation: string, proceed: () => Promise<T>): Promise<T> {
  return proceed();
}

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
