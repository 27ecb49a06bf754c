import { expect, test, vi } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region from-langgraph
import { MemoryStore, ReActAgent, SessionMemory, tool } from '@isoloop/core';
import * as z from 'zod';
// #endregion

test('the program of LangGraph.js, written with Isoloop, calls its tool, answers and keeps its thread', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'add', input: { a: 2, b: 40 } }] },
    'It is 42.',
  ]);
  const write = vi.fn<(text: string) => void>();

  // #region from-langgraph
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });
  const store = new MemoryStore(); // or unstorageStore(driver), IndexedDbStore, DurableStore
  const agentOf = (sessionId: string): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      systemPrompt: 'Answer briefly.',
      model, // openaiResponses({ model: 'gpt-5-mini', apiKey }) of @isoloop/core/openai
      tools: [add],
      memory: new SessionMemory(store, sessionId),
    });

  for await (const event of agentOf('notes').stream('What is 2 + 40?'))
    if (event.type === 'reasoning-chunk' && event.kind === 'text') write(event.delta);
  // #endregion

  expect(write.mock.calls.join('')).toBe('It is 42.');
  expect(model.requests).toHaveLength(2);
  expect(await agentOf('notes').messages()).toHaveLength(4);
});
