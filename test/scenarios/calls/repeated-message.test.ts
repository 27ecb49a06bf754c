import { expect, test } from 'vitest';
import {
  userMessage,
  InMemoryMemory,
  MemoryStore,
  SessionMemory,
  tool,
  ReActAgent,
  type Middleware,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const says = (text: string, id = text) => userMessage(text, { id });
const one = says('one');
const two = says('two');

function setUp(memory = new SessionMemory(new MemoryStore(), 's')) {
  return new ReActAgent({ name: 'a', model: new ScriptedModel(['A.', 'B.']), memory });
}

const twice = {
  code: 'INVALID_INPUT',
  message: expect.stringMatching(/^The id "one" is in use\. /),
  details: { id: 'one' },
};

test.for([
  ['the same object', [one, two, one]],
  ['another object of the same id', [one, two, says('again', 'one')]],
] as const)(
  '%s twice in one input is an error that names it, and nothing is stored',
  async ([, input]) => {
    const agent = setUp();
    await expect(agent.call(input)).rejects.toMatchObject(twice);
    expect(() => agent.stream(input)).toThrow(expect.objectContaining(twice) as Error);
    expect((await agent.call(input, { throwOnError: false })).error).toMatchObject(twice);
    await expect(agent.observe(input)).rejects.toMatchObject(twice);
    expect(() => agent.interrupt({ mode: 'inject', messages: input })).toThrow(
      expect.objectContaining(twice) as Error,
    );
    expect(await agent.messages()).toEqual([]);
    expect((await agent.call([one, two])).text).toBe('A.');
  },
);

test.for([
  ['a session', () => new SessionMemory(new MemoryStore(), 's')],
  ['messages alone', () => new InMemoryMemory()],
] as const)(
  'call() and observe() reject a message that the conversation already has: %s',
  async ([, open]) => {
    const { agent } = scriptedAgent(['A.', 'B.'], { memory: open() });
    await agent.call(one);
    const before = await agent.messages();
    await expect(agent.call([two, one])).rejects.toMatchObject(twice);
    await expect(agent.observe([two, one])).rejects.toMatchObject(twice);
    expect(await agent.messages()).toEqual(before);
    expect((await agent.call(two)).text).toBe('B.');
  },
);

test('a message that was removed from the memory may be sent again', async () => {
  const agent = setUp();
  await agent.call(one);
  await agent.memory.delete((await agent.messages()).map(({ id }) => id));
  expect((await agent.call(one)).text).toBe('B.');
});

test('after a model failure, call() without input answers the stored question, and a repeated message is rejected', async () => {
  const model = new ScriptedModel([{ error: new Error('down') }, 'A.']);
  const memory = new SessionMemory(new MemoryStore(), 's');
  const agent = new ReActAgent({ name: 'a', model, memory });
  await expect(agent.call(one)).rejects.toThrow('down');
  await expect(agent.call(one)).rejects.toMatchObject({
    message: expect.stringContaining('To continue, call without input.'),
  });
  expect((await agent.call()).text).toBe('A.');
  expect((await agent.messages()).filter(({ id }) => id === 'one')).toHaveLength(1);
});

test('if a pre-call hook repeats a message, the call rejects, and nothing is stored', async () => {
  const agent = setUp();
  const remove = agent.addHook({
    on: { 'pre-call': (event) => ({ ...event, input: [...event.input, ...event.input] }) },
  });
  await expect(agent.call(one)).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    message: expect.stringContaining('The id "one" is in use. Create a new message each time.'),
  });
  remove();
  expect(await agent.messages()).toEqual([]);
});

test('interrupt() rejects a message that the conversation has or that is already injected', async () => {
  const seen: unknown[] = [];
  const attempt = (act: () => unknown): void => {
    try {
      seen.push(act());
    } catch (error) {
      seen.push(error);
    }
  };
  const steer = tool({
    name: 'steer',
    description: '',
    input: { type: 'object' },
    execute(_input, { interrupt }) {
      attempt(() => interrupt({ mode: 'inject', messages: [two] }));
      attempt(() => interrupt({ mode: 'inject', messages: [two] }));
      attempt(() => agent.interrupt({ mode: 'inject', messages: [one] }));
      return 'ok';
    },
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'steer' }] }, 'Done.'], {
    tools: [steer],
  });
  expect((await agent.call(one)).text).toBe('Done.');
  expect(seen).toMatchObject([
    true,
    { code: 'INVALID_INPUT', details: { id: 'two' } },
    { code: 'INVALID_INPUT', details: { id: 'one' } },
  ]);
  const ids = (await agent.messages()).map(({ id }) => id);
  expect(ids.filter((id) => id === 'one' || id === 'two')).toEqual(['one', 'two']);
});

test('call() with `whenBusy: inject` rejects a message that the conversation has, and the running call continues', async () => {
  let goOn!: () => void;
  const waits = tool({
    name: 'waits',
    description: '',
    input: { type: 'object' },
    execute: () => new Promise<string>((resolve) => (goOn = () => resolve('ok'))),
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'waits' }] }, 'Done.'], {
    tools: [waits],
    whenBusy: 'inject',
  });
  const running = agent.call(one);
  await expect.poll(() => goOn).toBeDefined();
  await expect(agent.call(one)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    details: { id: 'one' },
  });
  goOn();
  expect((await running).text).toBe('Done.');
});

test('a `wrapSettle` cannot store a message twice', async () => {
  const twiceIn: Middleware = {
    wrapSettle: (input, next) =>
      next({ ...input, messages: [...input.messages, ...input.messages] }),
  };
  const { agent } = scriptedAgent(['A.'], { use: [twiceIn] });
  await expect(agent.call(one)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect(await agent.messages()).toEqual([]);
});
