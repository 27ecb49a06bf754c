import { expect, test } from 'vitest';
import type { AgentOptions } from '../../react-agent/agent-options.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { EchoMemory } from '../../../../edge/src/kv/log/echo-memory.ts';
import type { KeyValueStore } from '../../memory/store/key-value-store.ts';
import type { LogMemory, Memory } from '../../memory/memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { tool } from '../../tool/tool.ts';
import { loadState, saveState } from '../agent-state.ts';
import { appendKey, mergeKey, replaceKey, type StateKey } from '../state-key.ts';
import { stateKeys } from '../state-keys.ts';

const sum: StateKey<number, number> = {
  initial: 0,
  is: (value) => typeof value === 'number',
  reduce: (value, update) => value + update,
};
const state = stateKeys({
  cart: appendKey<string>(),
  facts: mergeKey<{ a: number; b: number; c: number }>(),
  city: replaceKey('nowhere'),
  total: sum,
});

/** Creates a new agent, as a request handler does for each request. */
function agentOver(memory: Memory, options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(['One.', 'Two.', 'Three.']);
  return new ReActAgent({
    name: 'a',
    model,
    memory,
    ...options,
    use: [state, ...(options.use ?? [])],
  });
}

async function filled(memory: Memory): Promise<void> {
  const agent = agentOver(memory);
  await agent.call('go');
  state.of(agent).write({ cart: 'bread', facts: { a: 1, b: 1 }, city: 'Rome', total: 2 });
  await agent.observe('Noted.');
}

const before = { cart: ['bread'], facts: { a: 1, b: 1 }, city: 'Rome', total: 2 };
const after = { cart: ['bread', 'milk'], facts: { a: 1, b: 2, c: 3 }, city: 'Oslo', total: 5 };
const update = { cart: 'milk', facts: { b: 2, c: 3 }, city: 'Oslo', total: 3 };

/** Creates a store that answers each operation in a later task. */
function lateStore(): KeyValueStore {
  const store = new MemoryStore();
  const later = async <T>(operation: () => Promise<T>): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve));
    return operation();
  };
  return {
    features: store.features,
    get: (key) => later(() => store.get(key)),
    getMany: (keys) => later(() => store.getMany(keys)),
    set: (key, value) => later(() => store.set(key, value)),
    setMany: (entries) => later(() => store.setMany(entries)),
    delete: (keys) => later(() => store.delete(keys)),
    keys: (prefix) => later(() => store.keys(prefix)),
  };
}

const echo = { secrets: ['x'.repeat(32)], withoutEcho: 'latest' } as const;

/** Ways to open one session again and again. Each function opens it as another request would. */
const sessions: readonly (readonly [string, () => () => Memory])[] = [
  [
    'one memory',
    () => {
      const memory = new SessionMemory(new MemoryStore(), 's');
      return () => memory;
    },
  ],
  [
    'a memory for each agent',
    () => {
      const store = new MemoryStore();
      return () => new SessionMemory(store, 's');
    },
  ],
  [
    'a log written once per turn',
    () => {
      const store = new MemoryStore();
      return () => new SessionMemory(store, 's', { durability: 'turn' });
    },
  ],
  [
    'a log that is compacted at each flush',
    () => {
      const store = new MemoryStore();
      return () => new SessionMemory(store, 's', { compactAfter: 1 });
    },
  ],
  [
    'a store that answers late',
    () => {
      const store = lateStore();
      return () => new SessionMemory(store, 's');
    },
  ],
  [
    'a session with echoes in a store that answers late',
    () => {
      const store = lateStore();
      return () => new EchoMemory(store, 's', echo);
    },
  ],
  [
    'a program’s own memory around a session',
    () => {
      const store = new MemoryStore();
      return () => wrapped(new SessionMemory(store, 's'));
    },
  ],
];

function wrapped(inner: SessionMemory): LogMemory {
  return {
    append: (messages) => inner.append(messages),
    read: () => inner.read(),
    delete: (ids) => inner.delete(ids),
    clear: () => inner.clear(),
    flush: (end) => inner.flush(end),
    note: (notes, options) => inner.note(notes, options),
    restore: (status, tools) => inner.restore(status, tools),
  };
}

test.for(sessions)(
  'updates before the first call apply to the values of the log: %s',
  async ([, open]) => {
    const memory = open();
    await filled(memory());
    const agent = agentOver(memory());
    const session = state.of(agent);
    session.write(update);
    await agent.call('go');
    expect(session.all()).toEqual(after);
    const next = agentOver(memory());
    await next.messages();
    expect(state.of(next).all()).toEqual(after);
  },
);

test.for(sessions)(
  'the values of the log are known after the messages were read: %s',
  async ([, open]) => {
    const memory = open();
    await filled(memory());
    const agent = agentOver(memory());
    await agent.messages();
    expect(state.of(agent).all()).toEqual(before);
    state.of(agent).write(update);
    expect(state.of(agent).all()).toEqual(after);
    expect((await saveState(agent)).state).toEqual(after);
  },
);

test.for(sessions)(
  'hooks, wrappers and tools of the first call see the values of the log: %s',
  async ([, open]) => {
    const memory = open();
    await filled(memory());
    const seen: unknown[] = [];
    const look = tool({
      name: 'look',
      description: '',
      input: { type: 'object' },
      execute: (_input, context) => {
        seen.push(state.of(context).read('cart'));
        state.of(context).write({ cart: 'tool' });
        return 'ok';
      },
    });
    const agent = agentOver(memory(), {
      model: new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done.']),
      tools: [look],
      use: [
        {
          on: {
            'run-start': (_event, run) => {
              seen.push(state.of(run).read('cart'));
              state.of(run).write({ cart: 'start' });
            },
            'pre-call': (event) => void seen.push(state.of(event).read('cart')),
          },
          wrapRun: (input, next, run) => {
            seen.push(run.state['cart']);
            run.state['city'] = 'Bonn';
            return next(input);
          },
        },
      ],
    });
    await agent.call('go');
    const started = ['bread', 'start'];
    expect(seen).toEqual([['bread'], started, started, started]);
    const next = agentOver(memory());
    await next.messages();
    expect(state.of(next).all()).toEqual({ ...before, cart: [...started, 'tool'], city: 'Bonn' });
  },
);

test.for(sessions)(
  'an update between two calls of one agent is merged with the updates of another agent: %s',
  async ([, open]) => {
    const memory = open();
    await filled(memory());
    const one = agentOver(memory());
    await one.call('go');
    const two = agentOver(memory());
    await two.messages();
    state.of(one).write({ cart: 'one', total: 1 });
    state.of(two).write({ cart: 'two', total: 1, facts: { c: 9 } });
    await two.call('go');
    await one.call('go');
    const all = { ...before, total: 4, facts: { a: 1, b: 1, c: 9 } };
    expect(state.of(one).all()).toEqual({ ...all, cart: expect.arrayContaining(['one', 'two']) });
    expect(state.of(one).read('cart')).toHaveLength(3);
  },
);

test('a value that was reset before the log was read stays reset', async () => {
  const store = new MemoryStore();
  await filled(new SessionMemory(store, 's'));
  const agent = agentOver(new SessionMemory(store, 's'));
  state.of(agent).reset('city');
  state.of(agent).reset('cart', ['only']);
  state.of(agent).write({ cart: 'this' });
  await agent.messages();
  expect(state.of(agent).all()).toEqual({ ...before, city: 'nowhere', cart: ['only', 'this'] });
});

test('a value that is assigned directly keeps its position among the updates', async () => {
  const store = new MemoryStore();
  await filled(new SessionMemory(store, 's'));
  const agent = agentOver(new SessionMemory(store, 's'));
  state.of(agent).write({ cart: 'lost' });
  agent.status.state['cart'] = ['assigned'];
  state.of(agent).write({ cart: 'milk' });
  await agent.call('go');
  expect(state.of(agent).all()).toEqual({ ...before, cart: ['assigned', 'milk'] });
});

test('removing messages keeps the state values, and clearing the memory removes them', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  await filled(memory);
  const agent = agentOver(memory);
  const messages = await agent.messages();
  await memory.delete(messages.map(({ id }) => id));
  expect(await agent.messages()).toEqual([]);
  expect(state.of(agent).all()).toEqual(before);
  await memory.clear();
  expect(state.of(agent).read('cart')).toEqual([]);
  await agent.call('go');
  expect(state.of(agent).read('cart')).toEqual([]);
});

test('loadState() replaces updates that the log does not have yet, also for the next host', async () => {
  const saved = await (async () => {
    const memory = new SessionMemory(new MemoryStore(), 'other');
    await filled(memory);
    return saveState(agentOver(memory));
  })();
  const store = new MemoryStore();
  const agent = agentOver(new SessionMemory(store, 's'));
  state.of(agent).write({ cart: 'mine', total: 7 });
  await loadState(agent, saved);
  expect(state.of(agent).all()).toEqual(before);
  const next = agentOver(new SessionMemory(store, 's'));
  await next.messages();
  expect(state.of(next).all()).toEqual(before);
});

test('if loadState() fails, updates that the log does not have yet are kept', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  await filled(memory);
  const agent = agentOver(memory);
  state.of(agent).write(update);
  const saved = await saveState(agentOver(new SessionMemory(new MemoryStore(), 'other')));
  store.setMany = () => Promise.reject(new Error('full'));
  store.compareAndSet = () => Promise.reject(new Error('full'));
  await expect(loadState(agent, saved)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(state.of(agent).all()).toEqual(after);
});

test('any next write to the log also stores an update', async () => {
  const store = new MemoryStore();
  const agent = agentOver(new SessionMemory(store, 's'));
  state.of(agent).write({ cart: 'milk' });
  await agent.memory.flush!();
  const next = agentOver(new SessionMemory(store, 's'));
  await next.messages();
  expect(state.of(next).read('cart')).toEqual(['milk']);
});

/**
 * Creates a store without `compareAndSet`. Its next write can fail before or after it takes effect.
 */
function faultyStore() {
  const inner = new MemoryStore();
  const store = {
    fault: undefined as 'before' | 'after' | undefined,
    features: inner.features,
    get: (key: string) => inner.get(key),
    getMany: (keys: readonly string[]) => inner.getMany(keys),
    set: (key: string, value: string) => inner.set(key, value),
    delete: (keys: readonly string[]) => inner.delete(keys),
    keys: (prefix: string) => inner.keys(prefix),
    async setMany(entries: readonly (readonly [string, string])[]) {
      const { fault } = store;
      store.fault = undefined;
      if (fault === 'before') throw new Error('full');
      await inner.setMany(entries);
      if (fault === 'after') throw new Error('lost connection');
    },
  } satisfies KeyValueStore & { fault: unknown };
  return store;
}

test.each(['before', 'after'] as const)(
  'an update counts once if its write fails %s it takes effect, even if another host writes',
  async (fault) => {
    const store = faultyStore();
    await filled(new SessionMemory(store, 's'));
    const agent = agentOver(new SessionMemory(store, 's'));
    await agent.messages();
    state.of(agent).write(update);
    store.fault = fault;
    await expect(agent.memory.flush!()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    const other = agentOver(new SessionMemory(store, 's'));
    state.of(other).write({ total: 10, cart: 'eggs' });
    await other.call('go');
    state.of(agent).write({ total: 100 });
    await agent.call('go');
    const next = agentOver(new SessionMemory(store, 's'));
    await next.messages();
    expect(state.of(next).read('total')).toBe(115);
    expect(state.of(next).read('cart').toSorted()).toEqual(['bread', 'eggs', 'milk']);
  },
);

test('concurrent runs keep each other’s updates', async () => {
  for (const shared of [true, false]) {
    const store = new MemoryStore();
    const only = new SessionMemory(store, 's');
    const open = () => (shared ? only : new SessionMemory(store, 's'));
    await filled(open());
    const add = (name: string) =>
      agentOver(open(), {
        name,
        use: [
          { on: { 'post-reasoning': (event) => state.of(event).write({ cart: name, total: 1 }) } },
        ],
      });
    await Promise.all([add('one').call('go'), add('two').call('go'), add('three').call('go')]);
    const next = agentOver(new SessionMemory(store, 's'));
    await next.messages();
    expect(state.of(next).read('cart').toSorted()).toEqual(['bread', 'one', 'three', 'two']);
    expect(state.of(next).read('total')).toBe(5);
  }
});

test('a call that a busy agent rejects does not change the open tool calls of the running call', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  let release!: (output: string) => void;
  const released = new Promise<string>((resolve) => (release = resolve));
  let start!: () => void;
  const started = new Promise<void>((resolve) => (start = resolve));
  const wait = tool({
    name: 'wait',
    description: '',
    input: { type: 'object' },
    execute: () => (start(), released),
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'wait', id: 'c' }] }, 'Done.']);
  const agent = agentOver(memory, { model, tools: [wait] });
  const running = agent.call('go');
  await started;
  const { calls } = agent.status;
  const open = calls.get('c');
  const refused = await agent.call('more', { throwOnError: false });
  expect(refused.error).toMatchObject({ code: 'AGENT_BUSY' });
  expect(calls.get('c')).toBe(open);
  release('ok');
  expect((await running).text).toBe('Done.');
});

test('an update that the log’s value does not allow fails the next call, and the error names the key', async () => {
  const store = new MemoryStore();
  const picky = stateKeys({
    place: {
      initial: '',
      is: (value) => typeof value === 'string',
      reduce(value, next: string) {
        if (value && value !== next) throw new RangeError(`it is ${value}`);
        return next;
      },
    } satisfies StateKey<string, string>,
  });
  const open = () =>
    new ReActAgent({
      name: 'a',
      model: new ScriptedModel(['One.', 'Two.']),
      memory: new SessionMemory(store, 's'),
      use: [picky],
    });
  const first = open();
  picky.of(first).write({ place: 'Rome' });
  await first.call('go');
  const second = open();
  picky.of(second).write({ place: 'Oslo' });
  await expect(second.call('go')).rejects.toMatchObject({
    code: 'INVALID_STATE',
    message: 'The state key "place" cannot take an update: it is Rome',
  });
  expect((await second.call('go')).text).toBe('One.');
  expect(picky.of(second).read('place')).toBe('Rome');
});
