import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region export-messages
import { MemoryStore, ReActAgent, SessionMemory } from '@isoloop/core';
import { parseHistory } from '@isoloop/core/message';
// #endregion

test('messages are exported as JSON and restored into another store', async () => {
  const model = new ScriptedModel(['Hello Ann.', 'You are Ann.']);
  const store = new MemoryStore();
  const newStore = new MemoryStore();
  const memory = new SessionMemory(store, 'notes');
  await new ReActAgent({ name: 'assistant', model, memory }).call('I am Ann.');

  // #region export-messages
  const exported = JSON.stringify(await new SessionMemory(store, 'notes').read());

  const history = parseHistory(JSON.parse(exported)); // checks each message
  const restored = new SessionMemory(newStore, 'notes'); // an empty session
  await restored.append(history);

  const agent = new ReActAgent({ name: 'assistant', model, memory: restored });
  const { text } = await agent.call('Who am I?');
  // #endregion

  expect(text).toBe('You are Ann.');
  expect(model.requests[1]!.messages).toHaveLength(3);
  expect(await new SessionMemory(newStore, 'notes').read()).toHaveLength(4);
});
