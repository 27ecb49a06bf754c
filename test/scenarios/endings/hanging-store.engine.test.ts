import { beforeEach, expect, test } from 'vitest';
import {
  ReActAgent,
  type AgentOptions,
  MemoryStore,
  SessionMemory,
  textOf,
  type Msg,
  tool,
} from '@isoloop/core';
import { historyFaults } from '../../support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { fakeClock, type FakeClock } from '../../clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));

const ended = <T>(call: Promise<T>): Promise<T> => clock.advanceUntil(call, 100);

type Method = 'get' | 'getMany' | 'setMany' | 'set' | 'compareAndSet';

/** A store in which `method` waits for `open` from its given use on. */
class HangingStore extends MemoryStore {
  readonly reached: Promise<void>;
  open!: () => void;
  #reach!: () => void;
  readonly #opened: Promise<void>;
  #left: number;
  readonly #method: Method;

  constructor(method: Method, use: number) {
    super();
    this.#method = method;
    this.#left = use;
    this.reached = new Promise((resolve) => (this.#reach = resolve));
    this.#opened = new Promise((resolve) => (this.open = resolve));
  }

  async #pass(method: Method): Promise<void> {
    if (method !== this.#method) return;
    this.#left -= 1;
    if (this.#left > 0) return;
    this.#reach();
    await this.#opened;
  }

  override async get(key: string) {
    await this.#pass('get');
    return super.get(key);
  }

  override async getMany(keys: readonly string[]) {
    await this.#pass('getMany');
    return super.getMany(keys);
  }

  override async set(key: string, value: string) {
    await this.#pass('set');
    return super.set(key, value);
  }

  override async setMany(entries: readonly (readonly [string, string])[]) {
    await this.#pass('setMany');
    return super.setMany(entries);
  }

  override async compareAndSet(key: string, expected: string | undefined, value: string) {
    await this.#pass('compareAndSet');
    return super.compareAndSet(key, expected, value);
  }
}

const calling = { text: 'Look.', toolCalls: [{ name: 'look' }] };
let runs = 0;
const look = tool({
  name: 'look',
  description: '',
  input: {},
  execute: () => {
    runs += 1;
    return 'seen';
  },
});

function setUp(memory: AgentOptions['memory'], limits = {}) {
  const model = new ScriptedModel(
    Array.from({ length: 9 }, (): ScriptedReply => ({ messages }) => {
      const asked = messages.findLast(({ role }) => role === 'user');
      if (asked && textOf(asked) === 'again') return 'next';
      return messages.at(-1)?.role === 'tool' ? 'first' : calling;
    }),
  );
  return new ReActAgent({ name: 'a', model, tools: [look], ...(memory && { memory }), limits });
}

const points: readonly (readonly [Method, number])[] = [
  ['get', 1],
  ['setMany', 1],
  ['compareAndSet', 1],
  ['compareAndSet', 2],
  ['compareAndSet', 3],
  ['compareAndSet', 4],
  ['compareAndSet', 5],
];

test.for(points)(
  'if %s of the store hangs from use %i on, an aborted call ends, the next call waits, and the log is complete',
  async ([method, use]) => {
    runs = 0;
    const store = new HangingStore(method, use);
    const agent = setUp(new SessionMemory(store, 's'));
    const controller = new AbortController();
    const call = agent.call('go', { signal: controller.signal });
    await store.reached;
    controller.abort();
    expect((await ended(call)).reason).toBe('aborted');
    expect(agent.busy).toBe(false);

    const before = runs;
    const waiting = setUp(agent.memory, { timeoutMs: 1000 });
    await expect(ended(waiting.call('again'))).rejects.toMatchObject({
      code: 'CALL_TIMEOUT',
    });
    await expect(ended(waiting.call('again'))).rejects.toMatchObject({
      code: 'CALL_TIMEOUT',
    });
    const next = agent.call('again');
    store.open();
    expect((await ended(next)).text).toBe('next');
    const messages = await agent.messages();
    expect(historyFaults(messages)).toEqual([]);
    expect(messages.slice(-2).map(textOf)).toEqual(['again', 'next']);
    expect(await new SessionMemory(store, 's').read()).toEqual(messages);
    expect(runs).toBe(before);
  },
);

test('a timeout while the store hangs fails the call, even during the last write', async () => {
  const store = new HangingStore('compareAndSet', 1);
  const memory = new SessionMemory(store, 's', { durability: 'turn' });
  const agent = setUp(memory, { timeoutMs: 1000 });
  await expect(ended(agent.call('again'))).rejects.toMatchObject({ code: 'CALL_TIMEOUT' });
  expect(agent.busy).toBe(false);
  store.open();
  expect((await ended(setUp(memory).call('again'))).text).toBe('next');
  const texts = (await new SessionMemory(store, 's').read()).map(textOf);
  expect(texts).toEqual(['again', 'next', 'again', 'next']);
});

test('after an aborted call, the next call waits for a custom memory that still writes', async () => {
  let open = (): void => {};
  let reach = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const messages: Msg[] = [];
  const reads: number[] = [];
  const memory = {
    async append(given: readonly Msg[]) {
      reach();
      await opened;
      messages.push(...given);
    },
    async read() {
      reads.push(messages.length);
      return [...messages];
    },
    async delete() {},
    async clear() {},
  };
  const agent = setUp(memory);
  const controller = new AbortController();
  const call = agent.call('go', { signal: controller.signal });
  await reached;
  controller.abort();
  expect((await ended(call)).reason).toBe('aborted');
  const next = agent.call('again');
  open();
  expect((await ended(next)).text).toBe('next');
  expect(reads).toEqual([0, 1]);
});

/**
 * A store whose reads stay pending while `isLost` is true. The functions in `late` settle those
 * reads.
 */
class LosingStore extends MemoryStore {
  isLost = false;
  readonly late: (() => void)[] = [];

  override get(key: string): Promise<string | undefined> {
    return this.#read(() => super.get(key));
  }

  override getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#read(() => super.getMany(keys));
  }

  #read<T>(read: () => Promise<T>): Promise<T> {
    if (!this.isLost) return read();
    return new Promise((resolve) => this.late.push(() => resolve(read())));
  }
}

const starts = [
  ['a new session', [], false],
  ['a session that this agent has read', ['go'], false],
  ['a session whose messages somebody reads', [], true],
] as const;

test.for(starts)(
  'after a read that never ended, of %s, the next call reads again, and the late result changes nothing',
  async ([, before, isRead]) => {
    const store = new LosingStore();
    const agent = setUp(new SessionMemory(store, 's'));
    for (const input of before) await ended(agent.call(input));
    store.isLost = true;
    const messages = isRead ? agent.messages() : undefined;
    const limited = setUp(agent.memory, { timeoutMs: 1000 });
    await expect(ended(limited.call('again'))).rejects.toMatchObject({
      code: 'CALL_TIMEOUT',
    });
    const controller = new AbortController();
    const call = agent.call('again', { signal: controller.signal });
    controller.abort();
    expect((await ended(call)).reason).toBe('aborted');
    const later = new AbortController();
    const aborted = agent.call('again', { signal: later.signal });
    setTimeout(() => later.abort(), 20);
    expect((await ended(aborted)).reason).toBe('aborted');
    expect(store.late.length).toBeGreaterThan(0);

    store.isLost = false;
    expect((await ended(agent.call('again'))).text).toBe('next');
    expect((await ended(limited.call('again'))).text).toBe('next');
    await messages;
    const log = await agent.messages();
    for (const settle of store.late) settle();
    expect((await ended(agent.call('again'))).text).toBe('next');
    expect((await agent.messages()).slice(0, -2)).toEqual(log);
    expect(await new SessionMemory(store, 's').read()).toEqual(await agent.messages());
    expect(historyFaults(await agent.messages())).toEqual([]);
  },
);
