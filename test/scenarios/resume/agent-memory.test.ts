import { expect, test } from 'vitest';
import { fitContext } from '@isoloop/core/context';
import {
  AgentError,
  MemoryStore,
  SessionMemory,
  textOf,
  type ModelRequest,
  tool,
  ReActAgent,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const echo = tool({
  name: 'echo',
  description: 'Says it again',
  input: { type: 'object', properties: { text: { type: 'string' } } },
  execute: async (input) => JSON.stringify(input),
});

test('a new agent continues the conversation that another agent stored in the same session', async () => {
  const store = new MemoryStore();
  const first = new ScriptedModel([
    {
      thinking: 'Hm.',
      toolCalls: [
        { name: 'echo', input: { text: '東京' } },
        { name: 'echo', input: '{bad' },
      ],
    },
    'Done.',
  ]);
  const before = new ReActAgent({
    name: 'a',
    model: first,
    tools: [echo],
    memory: new SessionMemory(store, 's'),
  });
  expect((await before.call('one')).sessionVersion).toBeGreaterThan(0);

  const second = new ScriptedModel(['Again.']);
  const after = new ReActAgent({
    name: 'a',
    model: second,
    tools: [echo],
    memory: new SessionMemory(store, 's'),
  });
  expect(await after.messages()).toEqual(await before.messages());
  expect((await after.call('two')).text).toBe('Again.');
  expect(second.requests[0]?.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'assistant',
    'user',
  ]);
});

test("if the store rejects a write, call() rejects with the store's code, and a later call stores all messages", async () => {
  class FullStore extends MemoryStore {
    full = false;
    override setMany(entries: readonly (readonly [string, string])[]): Promise<void> {
      return this.full
        ? Promise.reject(new AgentError('STORAGE_QUOTA', 'full'))
        : super.setMany(entries);
    }
  }
  const store = new FullStore();
  const { agent } = scriptedAgent(['One.', 'Two.'], { memory: new SessionMemory(store, 's') });
  await agent.call('first');
  store.full = true;
  await expect(agent.call('second')).rejects.toMatchObject({ code: 'STORAGE_QUOTA' });
  store.full = false;
  await agent.call('third');
  const stored = await new SessionMemory(store, 's').read();
  expect(stored.map((message) => textOf(message))).toEqual([
    'first',
    'One.',
    'second',
    'third',
    'Two.',
  ]);
});

test('fitContext() keeps the requests of a long conversation within the window and seldom changes where their history begins', async () => {
  const answers = Array.from({ length: 30 }, () => 'x'.repeat(400));
  const { agent, model } = scriptedAgent(answers, {
    systemPrompt: 'Be brief.',
    use: [fitContext({ window: 2_500, reserveOutput: 500, roundTo: 500 })],
  });
  for (let turn = 0; turn < 30; turn++) await agent.call('y'.repeat(400));
  const sizes = model.requests.map(({ messages }) => messages.length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(20);
  expect((await agent.messages()).length).toBe(60);
  const starts = new Set(model.requests.map(({ messages }: ModelRequest) => messages[1]?.id));
  expect(starts.size).toBeLessThan(12);
});

test.for([
  ['with a message', 'Hi'],
  ['without input', undefined],
] as const)('an agent call %s reads the log once', async ([, input]) => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Hello.']), memory });
  await agent.observe('Hi');
  const reads = { restore: 0, read: 0 };
  const restore = memory.restore.bind(memory);
  memory.restore = (...given) => {
    reads.restore += 1;
    return restore(...given);
  };
  const read = memory.read.bind(memory);
  memory.read = () => {
    reads.read += 1;
    return read();
  };
  expect((await agent.call(input)).text).toBe('Hello.');
  expect(reads).toEqual({ restore: 1, read: 1 });
});
