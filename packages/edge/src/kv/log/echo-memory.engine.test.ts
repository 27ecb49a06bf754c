import { expect, test } from 'vitest';
import { extent } from '@test/test-extent.ts';
import * as vitest from 'vitest';
import { userMessage } from '../../../../core/src/message/msg.ts';
import { memoryConformance } from '../../../../core/src/testing/memory-conformance.ts';
import { resealHead } from '@test/support/damage/mutations.ts';
import { message } from '@test/support/messages.ts';
import { BatchCache } from './batch-cache.ts';
import { EchoMemory, type EchoMemoryOptions } from './echo-memory.ts';
import { MemoryStore } from '../../../../core/src/memory/store/memory-store.ts';
import { EchoSigner, type Echo } from './session-echo.ts';
import { SessionMemory } from '../../../../core/src/memory/session-memory.ts';

const [secretA, secretB] = ['a'.repeat(32), 'b'.repeat(32)];

const conformanceStore = new MemoryStore();
memoryConformance(
  vitest,
  'EchoMemory',
  (sessionId) =>
    new EchoMemory(conformanceStore, sessionId, { secrets: [secretA], withoutEcho: 'latest' }),
  { persistent: true },
);

/** A store that can read old values, fail during a write, and count operations. */
class LateStore extends MemoryStore {
  time = 1_000_000;
  /** Keys whose reads return the value they had when they were frozen. */
  readonly frozen = new Map<string, string | undefined>();
  /** A write to a key that ends with this text fails. */
  broken = '-';
  reads = 0;
  writes = 0;
  /** Number of operations as Workers counts them: a bulk read of up to 100 keys counts once. */
  operations = 0;

  override async get(key: string): Promise<string | undefined> {
    this.operations++;
    return this.#read(key);
  }
  #read(key: string): Promise<string | undefined> | string | undefined {
    this.reads++;
    return this.frozen.has(key) ? this.frozen.get(key) : super.get(key);
  }
  override async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    this.operations += Math.ceil(keys.length / 100);
    const found = await Promise.all(keys.map(async (key) => [key, await this.#read(key)] as const));
    return new Map(
      found.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
    );
  }
  override async setMany(entries: readonly (readonly [string, string])[]): Promise<void> {
    for (const [key, value] of entries) {
      if (key.endsWith(this.broken)) throw new Error('the store is gone');
      this.writes++;
      this.operations++;
      await super.set(key, value);
    }
  }
  async freeze(key: string): Promise<void> {
    this.frozen.set(key, await super.get(key));
  }
}

function open(store: LateStore, echo?: string, options: EchoMemoryOptions = {}): EchoMemory {
  return new EchoMemory(store, 's', {
    secrets: [secretA],
    ...(echo !== undefined && { echo }),
    now: () => store.time,
    sleep: async (ms) => void (store.time += ms),
    ...options,
  });
}

/**
 * Runs one turn, which stores one message. Returns the echo at the start of the turn and at its
 * end.
 */
async function turn(
  store: LateStore,
  id: string,
  echo?: string,
  options?: EchoMemoryOptions,
): Promise<readonly [string, string]> {
  const memory = open(store, echo, options);
  await memory.append([message(id)]);
  const begun = memory.echo!;
  await memory.flush();
  return [begun, memory.echo!];
}

test('a turn makes two writes, and a turn that begins a session makes no read', async () => {
  const store = new LateStore();
  const [begun, first] = await turn(store, '1');
  expect([store.reads, store.writes]).toEqual([0, 2]);
  expect(payloadOf(begun)).toEqual({ v: 4, issuedAt: store.time, turnId: expect.any(String) });
  expect(payloadOf(first)).toEqual({
    v: 4,
    issuedAt: store.time,
    base: expect.stringMatching(`^00000001\\.${payloadOf(begun).turnId}=\\w{6}$`),
  });
  const [, second] = await turn(store, '2', first);
  expect(store.writes).toBe(4);
  expect(await idsOf(open(store, second))).toEqual(['1', '2']);
  expect(await idsOf(open(store, first))).toEqual(['1', '2']);
});

test("without an echo, a session starts empty, or continues from the latest state with `withoutEcho: 'latest'`", async () => {
  const store = new LateStore();
  await turn(store, '1');
  expect(await idsOf(open(store))).toEqual([]);
  expect(await idsOf(open(store, undefined, { withoutEcho: 'latest' }))).toEqual(['1']);
});

test('if the store returns a state older than the echo, read() retries and then rejects with SESSION_STALE and a retry time', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  await store.freeze('s:s:head');
  const [, second] = await turn(store, '2', first);
  const began = store.time;
  await expect(open(store, second).read()).rejects.toMatchObject({
    code: 'SESSION_STALE',
    retryable: true,
    details: { retryAfterMs: 10_000 },
  });
  expect(store.time - began).toBeGreaterThan(1000);
  expect(store.time - began).toBeLessThanOrEqual(3000);

  const late = open(store, second);
  await expect(late.read()).rejects.toMatchObject({ code: 'SESSION_STALE' });
  const reads = store.reads;
  await expect(late.read()).rejects.toMatchObject({ code: 'SESSION_STALE' });
  expect(store.reads).toBe(reads);

  const memory = open(store, second, { sleep: async () => void store.frozen.clear() });
  expect(await idsOf(memory)).toEqual(['1', '2']);
  store.time += 10_000;
  expect(await idsOf(late)).toEqual(['1', '2']);
  store.frozen.set('s:s:head', undefined);
  await expect(open(store, second).read()).rejects.toMatchObject({ code: 'SESSION_STALE' });
});

test.each([3_600_000, -3_600_000])(
  'if the date jumps by %i ms, read() still waits for its time, and reads again after it',
  async (jumpMs) => {
    const store = new LateStore();
    const [, first] = await turn(store, '1');
    await store.freeze('s:s:head');
    const [, second] = await turn(store, '2', first);
    const waits: number[] = [];
    const sleep = async (ms: number): Promise<void> => {
      waits.push(ms);
      if (waits.length === 1) store.time += jumpMs;
    };
    // An hour later, the echo would count as old.
    const memory = open(store, second, { sleep, staleMs: 1e9 });
    await expect(memory.read()).rejects.toMatchObject({ code: 'SESSION_STALE' });
    expect(waits).toEqual([250, 500, 1000]);
    store.frozen.clear();
    store.time -= jumpMs;
    expect(await idsOf(memory)).toEqual(['1', '2']);
  },
);

test('if the store shows an old head for longer than its maximum delay, the session continues from the echo', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  await store.freeze('s:s:head');
  const [, second] = await turn(store, '2', first);
  store.time += 121_000;
  const [, third] = await turn(store, '3', second);
  store.frozen.clear();
  expect(await idsOf(open(store, third))).toEqual(['1', '2', '3']);
});

test('of two concurrent turns, the turn that ends later is ordered after the other', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  const [one, other] = [open(store, first), open(store, first)];
  await one.append([message('2')]);
  await other.append([message('3')]);
  await one.flush();
  await other.flush();
  expect(await idsOf(other)).toEqual(['1', '2', '3']);
  expect(await idsOf(open(store, one.echo))).toEqual(['1', '2', '3']);
});

test('a turn that lost a race is reported at the next request, and the session can continue from either branch', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  const late = open(store, first);
  await late.append([message('3')]);
  await store.freeze('s:s:head');
  const [, lost] = await turn(store, '2', first);
  await late.flush();
  store.frozen.clear();

  const loser = open(store, lost);
  await expect(loser.read()).rejects.toMatchObject({ code: 'SESSION_CONFLICT', retryable: false });
  await expect(loser.append([message('4')])).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
  await expect(loser.flush()).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
  const { yours, theirs } = await loser.branches();
  expect([yours, theirs].map((branch) => branch!.messages.map(({ id }) => id))).toEqual([
    ['1', '2'],
    ['1', '3'],
  ]);
  expect([yours!.version, theirs!.version]).toEqual([2, 2]);

  const [, more] = await turn(store, '5', theirs!.echo);
  expect(await idsOf(open(store, more))).toEqual(['1', '3', '5']);
  await expect(open(store, yours!.echo).read()).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
  const again = await open(store, lost).branches();
  const [, kept] = await turn(store, '6', again.yours!.echo);
  expect(await idsOf(open(store, kept))).toEqual(['1', '2', '6']);
  await expect(open(store, more).read()).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
  expect(await open(store, kept).branches()).toEqual({ yours: expect.anything() });
});

test('a turn does not overwrite the head of a new session that began under the same id during the turn', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  const memory = open(store, first);
  await memory.append([message('2')]);
  await turn(store, 'new session');
  const head = await store.get('s:s:head');
  await memory.flush();
  expect(await store.get('s:s:head')).toBe(head);
  const { yours, theirs } = await open(store, memory.echo).branches();
  expect([yours, theirs].map((branch) => branch!.messages.map(({ id }) => id))).toEqual([
    ['1', '2'],
    ['new session'],
  ]);
});

test('a client that disconnected during a turn reads this turn if it has finished, even if the head does not name it yet', async () => {
  const store = new LateStore();
  const [begun] = await turn(store, '1');
  expect(await idsOf(open(store, begun))).toEqual(['1']);

  const [, first] = await turn(store, '2', begun);
  const half = open(store, first);
  await half.append([message('3')]);
  store.broken = ':head';
  await expect(half.flush()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  store.broken = '-';
  const time = store.time;
  const [, second] = await turn(store, '4', half.echo);
  expect(store.time).toBe(time);
  expect(await idsOf(open(store, second))).toEqual(['1', '2', '3', '4']);

  const slow = open(store, second);
  await slow.append([message('5')]);
  const [, third] = await turn(store, '6', slow.echo);
  await slow.flush();
  expect(await idsOf(open(store, third))).toEqual(['1', '2', '3', '4', '6', '5']);
});

test.for([
  [false, ['2', '1']],
  [true, ['1', '2']],
] as const)(
  'an abandoned first turn and the next turn become one log; the abandoned turn ends first: %s',
  async ([isFirst, order]) => {
    const store = new LateStore();
    const abandoned = open(store);
    await abandoned.append([message('1')]);
    const begun = abandoned.echo!;
    abandoned.leave();
    store.time += 1000;
    const next = open(store, begun);
    await next.append([message('2')]);
    for (const memory of isFirst ? [abandoned, next] : [next, abandoned]) {
      store.time += 1000;
      await memory.flush();
    }
    for (const echo of [begun, next.echo, abandoned.echo])
      expect(await idsOf(open(store, echo))).toEqual(order);
    expect(await idsOf(open(store, undefined, { withoutEcho: 'latest' }))).toEqual(order);
    const [, last] = await turn(store, '3', next.echo);
    expect(await idsOf(open(store, last))).toEqual([...order, '3']);
  },
);

test('an abandoned first turn begins a new session, even if an older session exists or the session was cleared', async () => {
  const store = new LateStore();
  await turn(store, '1');
  store.time += 1000;
  const abandoned = open(store);
  await abandoned.append([message('2')]);
  abandoned.leave();
  store.time += 1000;
  await abandoned.flush();
  expect(await idsOf(open(store, abandoned.echo))).toEqual(['2']);
  await store.freeze('s:s:head');
  await abandoned.clear();
  store.time += 1000;
  await abandoned.append([message('3')]);
  await abandoned.flush();
  store.frozen.clear();
  expect(await idsOf(open(store, abandoned.echo))).toEqual(['3']);
});

test("with `withoutEcho: 'latest'`, if two turns begin a session, the turn that ends later is ordered after the other", async () => {
  const store = new LateStore();
  const both = [
    open(store, undefined, { withoutEcho: 'latest' }),
    open(store, undefined, { withoutEcho: 'latest' }),
  ];
  for (const [index, memory] of both.entries()) await memory.append([message(String(index))]);
  for (const memory of both) {
    store.time += 1000;
    await memory.flush();
  }
  expect(await idsOf(open(store, both[0]!.echo))).toEqual(['0', '1']);
});

test('an abandoned turn that the client did not read is reported as the other branch', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  const abandoned = open(store, first);
  await abandoned.append([message('2')]);
  await store.freeze('s:s:head');
  const [, next] = await turn(store, '3', abandoned.echo);
  store.broken = ':head';
  await expect(abandoned.flush()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  store.broken = '-';
  store.frozen.clear();
  const { yours, theirs } = await open(store, next).branches();
  expect([yours, theirs].map((branch) => branch!.messages.map(({ id }) => id))).toEqual([
    ['1', '3'],
    ['1', '2'],
  ]);
  const [, last] = await turn(store, '4', yours!.echo);
  expect(await idsOf(open(store, last))).toEqual(['1', '3', '4']);
});

test('a failed write is retried under another key, and its messages are read once', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  for (const broken of [':head', '-']) {
    const memory = open(store, first);
    await memory.append([message(`2${broken}`)]);
    store.broken = ':head';
    await expect(memory.flush()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    store.broken = '-';
    await memory.flush();
    expect(payloadOf(memory.echo!).base).toMatch(/_1=\w+$/);
  }
  expect(await idsOf(open(store, first))).toEqual(['1', '2:head', '2-']);
});

test('every operation rejects an echo of another session or with another signature', async () => {
  const store = new LateStore();
  const [, echo] = await turn(store, '1');
  const signed = new EchoSigner([secretB], 's');
  const other = new EchoSigner([secretA], 'ann/s');
  const forged = [
    await signed.sign(await new EchoSigner([secretA], 's').verify(echo)),
    await other.sign({ issuedAt: store.time }),
    // The echo of another version of the library.
    await new EchoSigner([secretA], 's').sign({ v: 2, issuedAt: store.time } as Echo),
    '',
    'x',
    `${echo}=`,
    `${btoa('{"v":2,"issuedAt":0}').replaceAll('=', '')}.${echo.split('.')[1]}`,
    'x'.repeat(10_000),
    1 as unknown as string,
  ];
  const keys = await store.keys('');
  for (const each of forged) {
    const memory = open(store, each);
    for (const operation of [
      () => memory.read(),
      () => memory.append([message('2')]),
      () => memory.flush(),
      () => memory.branches(),
      () => memory.clear(),
    ]) {
      await expect(operation(), each).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        details: { param: 'echo' },
      });
    }
    expect(memory.echo).toBeUndefined();
  }
  expect(await store.keys('')).toEqual(keys);
  // The last Base64 character has two unused bits, so four texts encode the same bytes. Only the
  // text that was issued is valid.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const accepted = await Promise.all(
    [...alphabet].map((last) =>
      open(store, echo.slice(0, -1) + last)
        .read()
        .then(
          () => last,
          () => '',
        ),
    ),
  );
  expect(accepted.join('')).toBe(echo.at(-1));
});

test.for([[[]], [['short']], [[secretA, secretB, secretA]], [[secretA, 1]], ['x'.repeat(40)]])(
  'EchoMemory rejects the secrets %j',
  ([secrets]) => {
    expect(
      () => new EchoMemory(new MemoryStore(), 's', { secrets: secrets as readonly string[] }),
    ).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
  },
);

test('EchoMemory signs with the first of two secrets and accepts echoes of both', async () => {
  const store = new LateStore();
  const [, old] = await turn(store, '1');
  const [, fresh] = await turn(store, '2', old, { secrets: [secretB, secretA] });
  expect(await idsOf(open(store, fresh, { secrets: [secretB] }))).toEqual(['1', '2']);
  await expect(open(store, old, { secrets: [secretB] }).read()).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
});

test('a session can change from SessionMemory to EchoMemory and back', async () => {
  const store = new LateStore();
  await new SessionMemory(store, 's').append([message('1')]);
  const [, echo] = await turn(store, '2', undefined, { withoutEcho: 'latest' });
  await new SessionMemory(store, 's').append([message('3')]);
  const plain = open(store, undefined, { withoutEcho: 'latest' });
  expect(await idsOf(plain)).toEqual(['1', '2', '3']);
  expect(await idsOf(open(store, echo))).toEqual(['1', '2', '3']);
  expect(new EchoMemory(store, 's').echo).toBeUndefined();
  expect(await new EchoMemory(store, 's').branches()).toEqual({});
  expect(await idsOf(new EchoMemory(store, 's'))).toEqual(['1', '2', '3']);
});

test('a turn makes as few store operations in a long session as in a new session, and the stored size grows linearly', async () => {
  // More than the 256 turns after which the log is compacted.
  const turns = extent({ quick: 300, full: 1100 });
  const store = new LateStore();
  let [, echo] = await turn(store, '1');
  let written = 0;
  for (let n = 2; n <= turns; n++) {
    store.reads = store.writes = store.operations = 0;
    [, echo] = await turn(store, String(n), echo);
    // Two reads of the head and one bulk read, then two writes: the turn and the head.
    expect(store.operations).toBeLessThanOrEqual(5);
    expect(store.reads).toBeLessThanOrEqual(2 + 100);
    expect(store.writes).toBe(2);
    written += store.writes;
  }
  expect(written).toBe(2 * (turns - 1));
  expect((await idsOf(open(store, echo))).join()).toBe(
    Array.from({ length: turns }, (_, n) => n + 1).join(),
  );
  const texts = await Promise.all((await store.keys('')).map((key) => store.get(key)));
  const characters = (each: readonly (string | undefined)[]): number => each.join('').length;
  const [first = ''] = texts.filter((text) => text?.includes('"text of 1"'));
  expect(characters(texts)).toBeLessThan(5 * turns * first.length);
});

test('compaction does not write large values for a long history, and all messages stay readable', async () => {
  const store = new LateStore();
  let [, echo] = await turn(store, '0');
  const long = 'x'.repeat(60_000);
  for (let n = 1; n < 80; n++) {
    const memory = open(store, echo);
    await memory.append([userMessage(long, { id: String(n) })]);
    await memory.flush();
    echo = memory.echo!;
  }
  const texts = await Promise.all((await store.keys('s:s:t:')).map((key) => store.get(key)));
  expect(texts.filter((text) => text!.length > 100_000)).toEqual([]);
  expect((await idsOf(open(store, echo))).length).toBe(80);
});

test('turns that the head lists out of order are kept', async () => {
  const store = new LateStore();
  let echo: string | undefined;
  const renameBy = async (
    change: (refs: readonly string[]) => readonly (readonly string[])[],
  ): Promise<void> => {
    const text = (await store.get('s:s:head'))!;
    const { refs } = JSON.parse(text) as { readonly refs: readonly (readonly string[])[] };
    const changes = { refs: change(refs.flat().toSorted()) };
    await store.set('s:s:head', resealHead('s:s:head', text, changes));
  };
  for (let n = 1; n <= 32; n++) [, echo] = await turn(store, String(n), echo);
  await renameBy((refs) => [[], refs.slice(0, 31), refs.slice(31)]);
  for (let n = 33; n <= 40; n++) [, echo] = await turn(store, String(n), echo);
  await renameBy((refs) => [refs.slice(0, 32), refs.slice(32)]);
  for (let n = 41; n <= 42; n++) [, echo] = await turn(store, String(n), echo);
  expect(await idsOf(open(store, echo))).toEqual(
    Array.from({ length: 42 }, (_, n) => String(n + 1)),
  );
});

test('with a cache, a turn reads only the head, and records that the head no longer names are not returned', async () => {
  const store = new LateStore();
  const cache = new BatchCache(1_000_000);
  let [, echo] = await turn(store, '1', undefined, { cache });
  const other = echo;
  for (let n = 2; n <= 200; n++) {
    store.reads = 0;
    [, echo] = await turn(store, String(n), echo, { cache });
    expect(store.reads).toBeLessThanOrEqual(2);
  }
  const all = Array.from({ length: 200 }, (_, n) => String(n + 1));
  expect(await idsOf(open(store, echo, { cache }))).toEqual(all);
  const [, forked] = await turn(new LateStore(), '2', undefined, { cache });
  await expect(open(store, forked, { cache }).read()).rejects.toMatchObject({
    code: expect.stringMatching(/^SESSION_/),
  });
  expect(await idsOf(open(store, other, { cache }))).toEqual(all);
  const memory = open(store, echo, { cache });
  await memory.clear();
  expect(await idsOf(open(store, undefined, { withoutEcho: 'latest', cache }))).toEqual([]);
});

test('records that expired in the store are not read from the cache', async () => {
  const store = new LateStore();
  Object.assign(store.features, { expires: true });
  const cache = new BatchCache(1_000_000);
  const [, first] = await turn(store, '1', undefined, { cache });
  const [, second] = await turn(store, '2', first, { cache });
  expect(await idsOf(open(store, second, { cache }))).toEqual(['1', '2']);
  await store.delete([turnKeyOf(first)]);
  expect(await idsOf(open(store, second, { cache }))).toEqual(['2']);
});

test('BatchCache stays within its limit, and EchoMemory works with a cache that is too small', async () => {
  const store = new LateStore();
  let echo: string | undefined;
  for (let n = 0; n < 40; n++)
    [, echo] = await turn(store, String(n), echo, { compactAfter: 1000 });
  for (const characters of [0, 1, 1000]) {
    const cache = new BatchCache(characters);
    for (let times = 0; times < 2; times++)
      expect((await idsOf(open(store, echo, { cache }))).length).toBe(40);
  }
  expect(() => open(store, echo, { cache: {} as BatchCache })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('a damaged message is reported at each read, even if its batch is cached', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  const [, echo] = await turn(store, '2', first);
  const key = turnKeyOf(first);
  await store.set(key, (await store.get(key))!.replace('"role":"user"', '"role":"nobody"'));
  const cache = new BatchCache(1_000_000);
  const errors: unknown[] = [];
  for (let times = 1; times < 3; times++) {
    await expect(open(store, echo, { cache }).read()).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      details: { key },
    });
    expect(
      await idsOf(open(store, echo, { cache, onDamage: (error) => errors.push(error) })),
    ).toEqual(['2']);
    expect(errors.length).toBe(times);
  }
});

test('a log is compacted repeatedly, and a client with an old echo or an old head can still read the log', async () => {
  const store = new LateStore();
  let [, echo] = await turn(store, '0');
  const early = echo;
  await store.freeze('s:s:head');
  const old = store.frozen.get('s:s:head');
  store.frozen.clear();
  for (let n = 1; n < 100; n++) [, echo] = await turn(store, String(n), echo, { compactAfter: 10 });
  const all = Array.from({ length: 100 }, (_, n) => String(n));
  expect(await idsOf(open(store, early))).toEqual(all);
  const texts = await Promise.all((await store.keys('s:s:t:')).map((key) => store.get(key)));
  expect(texts.length).toBe(100);
  expect(texts.filter((text) => text!.includes('"replaces"')).length).toBe(9);
  store.reads = 0;
  await idsOf(open(store, echo));
  expect(store.reads).toBeLessThan(20);
  store.frozen.set('s:s:head', old);
  expect(await idsOf(open(store, early))).toEqual(['0']);
});

test('a turn that is larger than one value is split, a disconnected client can read it, and missing parts are detected', async () => {
  const store = new LateStore({ maxValueBytes: 200 });
  const [, first] = await turn(store, '1');
  const whole = open(store, first);
  await whole.append([message('2')]);
  store.broken = ':head';
  await expect(whole.flush()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  const [begun, second] = [whole.echo!, first];
  store.broken = ':2';
  const half = open(store, second);
  await half.append([message('3')]);
  await expect(half.flush()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  store.broken = '-';
  expect(await idsOf(open(store, half.echo))).toEqual(['1']);
  expect(await idsOf(open(store, begun))).toEqual(['1', '2']);
});

test('clearing a session deletes all its keys, and clients with an old echo get an error', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  const [, echo] = await turn(store, '2', first);
  const memory = open(store, echo);
  await memory.clear();
  expect(await store.keys('')).toEqual([]);
  await expect(open(store, echo).read()).rejects.toMatchObject({ code: 'SESSION_STALE' });
  store.time += 121_000;
  await expect(open(store, echo).read()).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
  expect(await open(store, echo).branches()).toEqual({});
  await memory.append([message('3')]);
  await memory.flush();
  expect(await idsOf(open(store, memory.echo))).toEqual(['3']);
});

test('a turn is stored if its reads miss the head and the last batch of a session that may be too young for them', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  const memory = open(store, first);
  await memory.append([message('2')]);
  for (const key of await store.keys('')) store.frozen.set(key, undefined);
  store.time += 120_000;
  await memory.flush();
  store.frozen.clear();
  // The turn did not write the head, and an echo outlasts an older head only after this time.
  store.time += 120_001;
  expect(await idsOf(open(store, memory.echo))).toEqual(['1', '2']);
});

test('a turn of a session that was deleted meanwhile writes nothing once no late read can hide the session', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  const memory = open(store, first);
  await memory.append([message('2')]);
  await open(store, first).clear();
  store.time += 120_001;
  await expect(memory.flush()).rejects.toMatchObject({ code: 'SESSION_DELETED' });
  expect(await store.keys('')).toEqual([]);
});

test('branches() rejects a branch whose last batch was changed in the store', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  const [key = ''] = await store.keys('s:s:t:');
  await turn(store, 'new session');
  await store.set(key, (await store.get(key))!.replace('text of 1', 'text of 2'));
  store.time += 121_000;
  await expect(open(store, first).branches()).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    details: { key },
  });
  const errors: unknown[] = [];
  const memory = open(store, first, { onDamage: (error) => errors.push(error) });
  expect(await memory.branches()).toEqual({ theirs: expect.anything() });
  expect(errors).toMatchObject([{ details: { key } }]);
});

test('a damaged batch that the head names is reported as SESSION_STALE first, and as damage after the store’s maximum delay', async () => {
  const store = new LateStore();
  const [, first] = await turn(store, '1');
  const [, second] = await turn(store, '2', first);
  await store.delete([turnKeyOf(second)]);
  await expect(open(store, first).read()).rejects.toMatchObject({ code: 'SESSION_STALE' });
  store.time += 121_000;
  await expect(open(store, first).read()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  const damages: unknown[] = [];
  expect(await idsOf(open(store, first, { onDamage: (error) => damages.push(error) }))).toEqual([
    '1',
  ]);
  expect(damages.length).toBeGreaterThan(0);
});

async function idsOf(memory: EchoMemory): Promise<readonly string[]> {
  return (await memory.read()).map(({ id }) => id);
}

/** Returns the key of the turn that an echo names as its latest state. */
function turnKeyOf(echo: string): string {
  return `s:s:t:${/\.([\w-]+)/.exec(payloadOf(echo).base!)![1]}`;
}

function payloadOf(echo: string): {
  readonly turnId?: string;
  readonly base?: string;
} {
  return JSON.parse(
    atob(echo.split('.')[0]!.replaceAll('-', '+').replaceAll('_', '/')),
  ) as ReturnType<typeof payloadOf>;
}
