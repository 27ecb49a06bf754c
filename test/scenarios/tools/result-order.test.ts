import { expect, test } from 'vitest';
import {
  toolResultsOf,
  toolUsesOf,
  assistantMessage,
  toolMessage,
  userMessage,
  type Msg,
  InMemoryMemory,
  type Memory,
  MemoryStore,
  SessionMemory,
  tool,
  ReActAgent,
} from '@isoloop/core';
import { EchoMemory } from '../../../packages/edge/src/kv/log/echo-memory.ts';
import { loadState, saveState } from '@isoloop/core/state';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';
import { plainMemory } from '../../support/plain-memory.ts';

/**
 * Creates tools whose calls end in the order `third`, `first`, `second`. `endNext` ends the next
 * call.
 */
function raceTools() {
  const ends = ['third', 'first', 'second'];
  const running = new Map<string, () => void>();
  const endNext = (): void => running.get(ends.shift() ?? '')?.();
  const tools = ['first', 'second', 'third'].map((name) =>
    tool({
      name,
      description: '',
      input: { type: 'object' },
      execute: () =>
        new Promise<string>((resolve) => {
          running.set(name, () => resolve(name));
          if (running.size === 3) endNext();
        }),
    }),
  );
  return { tools, endNext };
}

const round: ScriptedReply = {
  toolCalls: ['first', 'second', 'third'].map((name) => ({ name, id: name })),
};

function racer(memory: Memory, replies: readonly ScriptedReply[] = [round, 'Done.']) {
  const { tools, endNext } = raceTools();
  const model = new ScriptedModel(replies);
  const finished: string[] = [];
  const agent = new ReActAgent({
    name: 'a',
    model,
    memory,
    tools,
    use: [
      {
        on: {
          'post-acting': ({ toolUse }) => {
            finished.push(toolUse.name);
            endNext();
          },
        },
      },
    ],
  });
  return { agent, model, finished };
}

/**
 * Returns the order of tool calls (as `?name`), tool results (as `name`) and user messages (as
 * ids).
 */
function order(messages: readonly Msg[]): readonly string[] {
  return messages.flatMap((message) => [
    ...toolUsesOf(message).map(({ name }) => `?${name}`),
    ...toolResultsOf(message).map(({ name }) => name),
    ...(message.role === 'user' ? [message.id] : []),
  ]);
}

const asked = ['?first', '?second', '?third', 'first', 'second', 'third'];

test.for([
  ['messages alone', () => new InMemoryMemory()],
  ['a session', () => new SessionMemory(new MemoryStore(), 's')],
  [
    'a session with echoes',
    () => new EchoMemory(new MemoryStore(), 's', { secrets: ['x'.repeat(32)] }),
  ],
  ['a program’s own memory', plainMemory],
] as const)(
  'results that finish in another order are read in request order: %s',
  async ([, open]) => {
    const { agent, model, finished } = racer(open());
    await agent.call(userMessage('go', { id: 'u' }));
    expect(finished).toEqual(['third', 'first', 'second']);
    expect(order(await agent.messages())).toEqual(['u', ...asked]);
    expect(order(model.requests[1]!.messages)).toEqual(['u', ...asked]);
    const saved = await saveState(agent);
    expect(order(saved.messages)).toEqual(['u', ...asked]);
    const other = racer(new InMemoryMemory()).agent;
    await loadState(other, saved);
    expect(order(await other.messages())).toEqual(['u', ...asked]);
  },
);

test('the store has results in the order of completion; reads, views and exports have request order', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  const { agent } = racer(memory);
  await agent.call(userMessage('go', { id: 'u' }));
  const keys = await store.keys('');
  const texts = await store.getMany(keys);
  const results = keys.flatMap((key) => [...(texts.get(key) ?? '').matchAll(/"output":"(\w+)"/g)]);
  expect(results.map(([, name]) => name)).toEqual(['third', 'first', 'second']);

  const reopened = new SessionMemory(store, 's');
  expect(order(await reopened.read())).toEqual(['u', ...asked]);
  expect(order((await reopened.view()).messages)).toEqual(['u', ...asked]);
  const records = await reopened.records();
  const exported = records.flatMap((record) => (record.kind === 'message' ? [record.message] : []));
  expect(order(exported)).toEqual(['u', ...asked]);
});

test('results are in request order even if a hook stops the run before the next model request', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const { agent } = racer(memory, [round]);
  agent.addHook({
    on: {
      'post-acting': ({ toolUse, stop }) => void (toolUse.name === 'second' && stop()),
    },
  });
  expect((await agent.call(userMessage('go', { id: 'u' }))).reason).toBe('stopped-by-hook');
  expect(order(await memory.read())).toEqual(['u', ...asked]);
});

const says = (id: string): Msg => userMessage(id, { id });
const asks = (id: string, ...names: string[]): Msg =>
  assistantMessage(
    names.map((name) => ({ type: 'tool_use', id: name, name, input: {} })),
    { id },
  );
const gives = (name: string, id = `r-${name}`): Msg =>
  toolMessage({ type: 'tool_result', toolUseId: name, name, output: id, state: 'success' }, { id });
const ids = (messages: readonly Msg[]): readonly string[] => messages.map(({ id }) => id);

test.each([1, 256])(
  'removed, replaced and late results keep the request order (compacted after %i)',
  async (compactAfter) => {
    const store = new MemoryStore();
    const open = () => new SessionMemory(store, 's', { compactAfter });
    const memory = open();
    await memory.append([asks('a', '1', '2', '3'), gives('3')]);
    await memory.append([says('observed'), gives('2'), gives('1'), says('u')]);
    const read = async () => {
      const now = ids(await memory.read());
      expect(ids(await open().read())).toEqual(now);
      return now;
    };
    expect(await read()).toEqual(['a', 'r-1', 'r-2', 'r-3', 'observed', 'u']);
    await memory.replace({ ...gives('2'), metadata: { edited: true } });
    expect(await read()).toEqual(['a', 'r-1', 'r-2', 'r-3', 'observed', 'u']);
    expect((await memory.read())[2]!.metadata).toEqual({ edited: true });
    await memory.delete(['r-3']);
    expect(await read()).toEqual(['a', 'r-1', 'r-2', 'observed', 'u']);
    await memory.append([gives('3', 'late')]);
    expect(await read()).toEqual(['a', 'r-1', 'r-2', 'late', 'observed', 'u']);
    await memory.delete(['a']);
    expect((await read()).toSorted()).toEqual(['late', 'observed', 'r-1', 'r-2', 'u']);
  },
);

test('results of pending tool calls are placed after their tool calls, whenever the results arrive', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const names = ['one', 'two', 'three'];
  const model = new ScriptedModel([
    { toolCalls: names.map((name) => ({ name, id: name })) },
    'Done.',
  ]);
  const tools = names.map((name) => tool({ name, description: '', input: { type: 'object' } }));
  const agent = new ReActAgent({ name: 'a', model, memory, tools });
  expect((await agent.call(says('u'))).reason).toBe('suspended');
  await agent.observe(says('observed'));
  const result = { type: 'result', output: 'ok' } as const;
  await agent.call([{ ...result, toolUseId: 'three' }]);
  await agent.call([{ ...result, toolUseId: 'one' }]);
  expect(order(await agent.messages())).toEqual([
    'u',
    '?one',
    '?two',
    '?three',
    'one',
    'three',
    'observed',
  ]);
  await agent.call([{ ...result, toolUseId: 'two' }]);
  const all = ['u', '?one', '?two', '?three', 'one', 'two', 'three', 'observed'];
  expect(order(await agent.messages())).toEqual(all);
  expect(order(model.requests[1]!.messages)).toEqual(all);
});

test('after an abort, results of tools that had finished enter the log, except one that a hook still judges', async () => {
  const names = ['first', 'second', 'third'];
  const tools = names.map((name) =>
    tool({ name, description: '', input: {}, execute: () => `${name} is done` }),
  );
  const controller = new AbortController();
  const { agent } = scriptedAgent([round], {
    tools,
    use: [
      {
        on: {
          'post-acting'({ toolUse }) {
            if (toolUse.name !== 'first' || controller.signal.aborted) return;
            controller.abort();
            return new Promise<never>(() => {});
          },
        },
      },
    ],
  });
  const { reason, toolsUsed } = await agent.call('Go', { signal: controller.signal });
  expect([reason, toolsUsed]).toEqual(['aborted', names]);
  const results = (await agent.messages()).flatMap(toolResultsOf);
  expect(results.map(({ name, state, output }) => [name, state, output])).toEqual([
    ['first', 'interrupted', expect.stringContaining('its effect is unknown')],
    ['second', 'success', 'second is done'],
    ['third', 'success', 'third is done'],
  ]);
});
