import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region change-model
import { MemoryStore, ReActAgent, SessionMemory, type ChatModel } from '@isoloop/core';
// #endregion

test('a conversation continues with another model', async () => {
  const small = new ScriptedModel(['Hello Ann.']);
  const large = new ScriptedModel(['You are Ann.']);

  // #region change-model
  const store = new MemoryStore();
  const agentWith = (model: ChatModel): ReActAgent =>
    new ReActAgent({ name: 'assistant', model, memory: new SessionMemory(store, 'notes') });

  await agentWith(small).call('I am Ann.');
  const { text, usage } = await agentWith(large).call('Who am I?'); // reads the same log
  // #endregion

  expect(text).toBe('You are Ann.');
  expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
  expect(JSON.stringify(large.requests[0]!.messages)).toContain('I am Ann.');
});
