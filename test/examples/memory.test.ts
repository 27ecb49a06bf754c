import { expect, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region memory
import { fitContext, MemoryStore, ReActAgent, SessionMemory } from '@isoloop/core';
// #endregion
import { textOf, userMessage } from '@isoloop/core';

test('a session over a store', async () => {
  const model = new ScriptedModel(['Hello Ann.', 'Ann.', 'I do not know.']);

  // #region memory
  const store = new MemoryStore(); // in a worker IndexedDbStore, on Cloudflare KvStore, or a KeyValueStore of your own
  const agentOf = (sessionId: string): ReActAgent =>
    new ReActAgent({ name: 'assistant', model, sessionId, memory: new SessionMemory(store, sessionId) });

  await agentOf('notes').call('I am Ann.');
  const { text } = await agentOf('notes').call('Who am I?'); // another instance, the same conversation

  const memory = new SessionMemory(store, 'notes', { durability: 'turn' }); // one write a call; default: at each step
  const messages = await memory.read();
  await memory.delete([messages[0]!.id]);
  await memory.clear();
  // #endregion

  expect(text).toBe('Ann.');
  expect(model.requests[1]?.messages.map(textOf)).toEqual(['I am Ann.', 'Hello Ann.', 'Who am I?']);
  expect(await new SessionMemory(store, 'notes').read()).toEqual([]);
});

test('fitContext', async () => {
  const model = new ScriptedModel(['Yes.']);

  // #region fit-context
  const agent = new ReActAgent({ name: 'assistant', model, context: fitContext({ window: 8_000, reserveOutput: 1_000 }) });
  // #endregion

  await agent.observe([userMessage('long '.repeat(20_000)), userMessage('short')]);
  const removed: number[] = [];
  for await (const event of agent.stream('Hello')) if (event.type === 'context-fitted') removed.push(event.removed);
  expect(removed.length).toBe(1);
  expect(model.requests[0]?.messages.map(textOf)).not.toContain('long '.repeat(20_000));
  expect(await agent.messages()).toHaveLength(4);
});
