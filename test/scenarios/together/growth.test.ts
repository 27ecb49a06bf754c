import { expect, onTestFinished, test, vi } from 'vitest';
import {
  ReActAgent,
  InMemoryMemory,
  type ExtendedMemory,
  MemoryStore,
  SessionMemory,
  assistantMessage,
  userMessage,
  textOf,
  type Msg,
  tool,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: { type: 'object' },
  execute: () => 'seen',
});

/** Creates an agent whose next call asks the model this many times. */
function agentOf(steps: number, memory: ExtendedMemory): ReActAgent {
  const calls = Array.from({ length: steps - 1 }, (_unused, index) => ({
    toolCalls: [{ id: `c${index}`, name: 'look' }],
  }));
  return new ReActAgent({
    name: 'a',
    model: new ScriptedModel([...calls, 'done']),
    tools: [look],
    memory,
    limits: { iterations: Infinity },
  });
}

/** Returns a message that counts the reads of its content. */
function counted(message: Msg, onRead: () => void): Msg {
  const { content } = message;
  return Object.defineProperty({ ...message }, 'content', {
    enumerable: true,
    get() {
      onRead();
      return content;
    },
  });
}

/** Returns how often a run with this many steps reads the content of the earlier messages. */
async function readsIn(steps: number, memory: ExtendedMemory): Promise<number> {
  let reads = 0;
  const history = Array.from({ length: 20 }, (_unused, index) =>
    counted(index % 2 ? assistantMessage('old answer') : userMessage('old question'), () => {
      reads += 1;
    }),
  );
  await memory.append(history);
  await memory.flush?.();
  reads = 0;
  await agentOf(steps, memory).call('go');
  return reads;
}

test.for([
  ['InMemoryMemory', () => new InMemoryMemory()],
  ['SessionMemory', () => new SessionMemory(new MemoryStore(), 's')],
] as const)('a step of a run does not look at earlier messages (%s)', async ([, make]) => {
  const few = await readsIn(3, make());
  expect(few).toBeGreaterThan(0);
  expect(await readsIn(40, make())).toBe(few);
});

test.for([
  ['InMemoryMemory', () => new InMemoryMemory()],
  ['SessionMemory', () => new SessionMemory(new MemoryStore(), 's')],
] as const)('a run does not look at messages of earlier runs (%s)', async ([, make]) => {
  const memory = make();
  let reads = 0;
  const history = Array.from({ length: 20 }, (_unused, index) =>
    counted(index % 2 ? assistantMessage('old answer') : userMessage('old question'), () => {
      reads += 1;
    }),
  );
  await memory.append(history);
  const { agent, model } = scriptedAgent(['one', 'two', 'three'], { memory });
  await agent.call('first');
  reads = 0;
  await agent.call('second');
  // An endpoint creates an agent for each turn.
  await new ReActAgent({ name: 'b', model, memory }).call('third');
  expect(reads).toBe(0);
  expect(await agent.messages()).toHaveLength(26);
});

test('a run looks at the whole log again after somebody has edited it', async () => {
  const memory = new InMemoryMemory();
  const { agent, model } = scriptedAgent(['one', 'two', 'three'], { memory });
  await agent.call(userMessage('first', { id: 'u1' }));
  await agent.call(userMessage('second', { id: 'u2' }));
  const [, , second] = await memory.read();
  await memory.replace({ ...second!, content: [{ type: 'text', text: 'edited' }] });
  await memory.delete(['u1']);
  await agent.call(userMessage('again', { id: 'u1' }));
  expect(model.requests.at(-1)!.messages.map(textOf)).toEqual(['one', 'edited', 'two', 'again']);
  await expect(agent.call(userMessage('twice', { id: 'u2' }))).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
});

test('two agents with one memory run at the same time, and each knows its own messages', async () => {
  const memory = new InMemoryMemory();
  const begin = new ScriptedModel(['one']);
  await new ReActAgent({ name: 'a', model: begin, memory }).call('first');
  const models = [new ScriptedModel(['two']), new ScriptedModel(['three'])];
  const agents = models.map((model) => new ReActAgent({ name: 'a', model, memory }));
  await Promise.all(agents.map((agent, index) => agent.call(`question ${index}`)));
  for (const [index, { requests }] of models.entries())
    expect(requests[0]!.messages.map(textOf)).toEqual(['first', 'one', `question ${index}`]);
  expect(await memory.read()).toHaveLength(6);
});

test('a step of a run leaves no listener on a signal', async () => {
  const kept = new Map<EventTarget, number>();
  const count = (target: EventTarget, change: number): void => {
    if (target instanceof AbortSignal) kept.set(target, (kept.get(target) ?? 0) + change);
  };
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(EventTarget.prototype, 'addEventListener').mockImplementation(function add(
    this: EventTarget,
    ...args
  ) {
    count(this, 1);
    return addEventListener.apply(this, args);
  });
  vi.spyOn(EventTarget.prototype, 'removeEventListener').mockImplementation(function remove(
    this: EventTarget,
    ...args
  ) {
    count(this, -1);
    return removeEventListener.apply(this, args);
  });
  await agentOf(100, new InMemoryMemory()).call('go');
  expect(Math.max(...kept.values())).toBeLessThan(20);
});
