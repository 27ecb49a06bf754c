import { expect, test } from 'vitest';
import { historyFaults } from '@test/support/history-faults.ts';
import { assistantMessage, toolMessage, userMessage } from '../../message/msg.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import { tool } from '../../tool/tool.ts';
import type { LogRecord } from '../log/log-record.ts';
import { SessionMemory } from '../session-memory.ts';
import type { KeyValueStore } from '../store/key-value-store.ts';
import { MemoryStore } from '../store/memory-store.ts';

type Evict = () => Promise<void>;

/** Returns the store without `compareAndSet`. */
function withoutCompareAndSet(store: MemoryStore): KeyValueStore {
  const features = { ...store.features, compareAndSet: false };
  return {
    features,
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    set: (key, value) => store.set(key, value),
    setMany: (entries) => store.setMany(entries),
    delete: (keys) => store.delete(keys),
    keys: (prefix) => store.keys(prefix),
  };
}

/** Returns a store, a way to delete all its keys or its heads, and a way to open its session. */
function evictable({ compares, evicts }: { compares: boolean; evicts: 'all' | 'head' }) {
  const inner = new MemoryStore();
  const store = compares ? inner : withoutCompareAndSet(inner);
  const evict: Evict = async () => {
    const keys = await inner.keys('');
    await inner.delete(keys.filter((key) => evicts === 'all' || key.endsWith(':head')));
  };
  const open = (): SessionMemory =>
    new SessionMemory(store, 's', { sleep: async () => {}, onWarning: () => {} });
  return { evict, open };
}

/** When the store loses the session. */
const moments = {
  'after the model called a tool': { event: 'post-reasoning', tools: 0 },
  'while tools run': { event: undefined, tools: 2 },
  'between two steps': { event: 'post-acting', tools: 2 },
} as const;

const replies: readonly ScriptedReply[] = [
  {
    toolCalls: [
      { name: 'find', id: 'a' },
      { name: 'find', id: 'b' },
    ],
  },
  'Done.',
];

/** Creates an agent whose run loses its session at a moment. */
function losing(moment: keyof typeof moments, memory: SessionMemory, evict: Evict) {
  const { event } = moments[moment];
  let finished = 0;
  const find = tool({
    name: 'find',
    description: '',
    input: {},
    execute: async () => {
      if (!event) await evict();
      finished += 1;
      return 'x';
    },
  });
  const agent = new ReActAgent({
    name: 'a',
    sessionId: 's',
    memory,
    model: new ScriptedModel([...replies, 'Again.', 'Again.']),
    tools: [find],
    use: event ? [{ on: { [event]: evict } }] : [],
  });
  return { agent, finished: () => finished };
}

const stores = [
  { compares: true, evicts: 'all' },
  { compares: true, evicts: 'head' },
  { compares: false, evicts: 'all' },
] as const;

const momentNames = Object.keys(moments) as (keyof typeof moments)[];

test.for(stores.flatMap((store) => momentNames.map((moment) => ({ ...store, moment }))))(
  'a run whose session vanishes $moment ends with an error and writes nothing ($compares, $evicts)',
  async ({ moment, ...kind }) => {
    const { evict, open } = evictable(kind);
    const { agent, finished } = losing(moment, open(), evict);
    const { reason, error } = await agent.call('go', { throwOnError: false });
    expect(reason).toBe('error');
    expect(error).toMatchObject({
      code: 'SESSION_DELETED',
      retryable: false,
      message: expect.stringContaining('A new message begins a new session'),
    });
    expect(finished()).toBe(moments[moment].tools);
    expect(await open().read()).toEqual([]);
    // The hooks of the same agent would delete the session again.
    const next = new ReActAgent({
      name: 'a',
      memory: open(),
      model: new ScriptedModel(['Hello.']),
    });
    expect((await next.call('hello')).reason).toBe('stop');
    const messages = await open().read();
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(historyFaults(messages)).toEqual([]);
  },
);

test.for(stores)(
  'after a run whose session vanished, the same agent answers the next message ($compares, $evicts)',
  async (kind) => {
    const { evict, open } = evictable(kind);
    const { agent } = losing('while tools run', open(), evict);
    await agent.call('go', { throwOnError: false });
    expect((await agent.call('hello')).reason).toBe('stop');
    const messages = await open().read();
    expect(messages[0]).toMatchObject({ role: 'user', content: [{ text: 'hello' }] });
    expect(historyFaults(messages)).toEqual([]);
  },
);

test.for(stores)(
  'a session that vanishes before the first write of a run begins anew ($compares, $evicts)',
  async (kind) => {
    const { evict, open } = evictable(kind);
    await open().append([userMessage('old'), assistantMessage('answer')]);
    const memory = open();
    await memory.read();
    await evict();
    const model = new ScriptedModel(['Hello.']);
    const agent = new ReActAgent({ name: 'a', memory, model });
    expect((await agent.call('hello')).reason).toBe('stop');
    expect((await open().read()).map(({ role }) => role)).toEqual(['user', 'assistant']);
  },
);

test('in a store without compareAndSet, a run writes a head again that alone has vanished', async () => {
  const { evict, open } = evictable({ compares: false, evicts: 'head' });
  const { agent } = losing('while tools run', open(), evict);
  expect((await agent.call('go')).reason).toBe('stop');
  const messages = await open().read();
  const roles = messages.map(({ role }) => role);
  expect(roles).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
  expect(historyFaults(messages)).toEqual([]);
});

test('a run does not write into the session that another tab began after an eviction', async () => {
  const { evict, open } = evictable({ compares: true, evicts: 'all' });
  const other = [userMessage('new', { id: 'n' }), assistantMessage('yes', { id: 'y' })];
  const { agent } = losing('while tools run', open(), async () => {
    await evict();
    await open().append(other);
  });
  expect((await agent.call('go', { throwOnError: false })).error?.code).toBe('SESSION_DELETED');
  const messages = await open().read();
  expect(new Set(messages.map(({ id }) => id))).toEqual(new Set(['n', 'y']));
});

test('a message that could not be stored before an eviction begins the new session', async () => {
  const { evict, open } = evictable({ compares: true, evicts: 'all' });
  const memory = open();
  await memory.append([userMessage('one')]);
  await memory.append([userMessage('two', { id: '2' })], { later: true });
  await evict();
  await memory.flush();
  expect((await open().read()).map(({ id }) => id)).toEqual(['2']);
});

test('a title or another note does not bring a vanished session back', async () => {
  const { evict, open } = evictable({ compares: true, evicts: 'all' });
  const memory = open();
  await memory.append([userMessage('one')]);
  await evict();
  await expect(memory.rename('Title')).rejects.toMatchObject({ code: 'SESSION_DELETED' });
  expect(await open().records()).toEqual([]);
});

const call = assistantMessage([{ type: 'tool_use', id: 'c', name: 'find', input: {} }]);
const result = toolMessage(
  { type: 'tool_result', toolUseId: 'c', name: 'find', output: 'x', state: 'success' },
  { id: 'r' },
);
const messageRecord = (message: typeof call): LogRecord => ({ kind: 'message', message });
const started: LogRecord = { kind: 'call-started', toolUseId: 'c' };
const runEnd: LogRecord = { kind: 'run-end', runId: '', reason: 'error' };

/** Writes of sessions that an earlier version began in the middle of a run. */
const lostStarts: Readonly<Record<string, readonly (readonly LogRecord[])[]>> = {
  'a lone tool call': [[messageRecord(call)]],
  'a lone tool call that has started': [[messageRecord(call), started], [runEnd]],
  'a note and a lone tool call': [[started, messageRecord(call)]],
  'a lone result': [[messageRecord(result)]],
  'a lone result and an answer': [[messageRecord(result)], [messageRecord(assistantMessage('A'))]],
  'a tool call with its result': [[messageRecord(call)], [messageRecord(result)], [runEnd]],
};

test.for(Object.entries(lostStarts))(
  'a session that begins with %s takes the next message',
  async ([, writes]) => {
    const { open } = evictable({ compares: true, evicts: 'all' });
    const writer = open();
    for (const records of writes) await writer.write(records);
    const view = await open().view();
    expect([...view.calls]).toEqual([]);
    expect(historyFaults(view.messages)).toEqual([]);
    const find = tool({ name: 'find', description: '', input: {}, execute: () => 'no' });
    for (const text of ['one', 'two']) {
      const model = new ScriptedModel(['Yes.']);
      const agent = new ReActAgent({ name: 'a', memory: open(), model, tools: [find] });
      expect((await agent.call(text)).reason).toBe('stop');
      expect(historyFaults(model.requests[0]!.messages)).toEqual([]);
    }
    const messages = await open().read();
    expect(messages.slice(-4).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
    expect(historyFaults(messages)).toEqual([]);
  },
);

test('a session whose first message was deleted still waits for its call', async () => {
  const { open } = evictable({ compares: true, evicts: 'all' });
  const writer = open();
  const begin: LogRecord = { kind: 'run-begin', runId: 'r' };
  await writer.write([messageRecord(userMessage('go', { id: 'u' })), begin, messageRecord(call)]);
  await writer.delete(['u']);
  expect([...(await open().view()).calls.keys()]).toEqual(['c']);
  // A snapshot has the notes behind the messages.
  const copy = new SessionMemory(new MemoryStore(), 's');
  await copy.write(await writer.records());
  expect([...(await copy.view()).calls.keys()]).toEqual(['c']);
});
