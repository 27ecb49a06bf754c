import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { MemoryStore, ReActAgent, SessionMemory, tool } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
// #region from-mastra
import * as z from 'zod';
// #endregion

test('the threads of Mastra are sessions, and each knows its own conversation', async () => {
  const store = new MemoryStore();
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'add', input: { a: 2, b: 40 } }] },
    'It is 42.',
    'You asked for 2 + 40.',
    'Nothing yet.',
  ]);

  // #region from-mastra
  const add = tool({
    name: 'add', // createTool: id
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }), // inputSchema
    execute: ({ a, b }) => a + b,
  });
  const open = (resource: string, thread: string): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      systemPrompt: 'Answer briefly.', // instructions
      model, // a model of AI SDK: fromAiSdk(model)
      tools: [add],
      userId: resource,
      memory: new SessionMemory(store, `${resource}:${thread}`), // memory: { resource, thread }
      limits: { iterations: 5 }, // maxSteps
    });

  await open('ann', 'sums').call('What is 2 + 40?');
  const { text } = await open('ann', 'sums').call('What did I ask?'); // continues the thread
  await open('ann', 'trips').call('What did I ask?'); // another thread
  // #endregion

  expect(text).toBe('You asked for 2 + 40.');
  expect(model.requests[2]!.messages).toHaveLength(6);
  expect(model.requests[3]!.messages).toHaveLength(2);
});
