import { expect, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region memory
import { MemoryStore, ReActAgent, SessionMemory } from '@isoloop/core';
// #endregion
import { textOf } from '@isoloop/core';

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
