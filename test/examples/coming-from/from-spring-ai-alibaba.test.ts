import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region from-spring-ai-alibaba
import { MemoryStore, ReActAgent, SessionMemory, tool } from '@isoloop/core';
import { springAiAlibaba } from '@isoloop/presets';
import * as z from 'zod';
// #endregion

test('the program of Spring AI Alibaba, written with Isoloop, calls its tool and answers', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'add', input: { a: 2, b: 40 } }] },
    'It is 42.',
  ]);

  // #region from-spring-ai-alibaba
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });
  const store = new MemoryStore(); // MemorySaver; for Redis and files: unstorageStore(driver)
  const agent = new ReActAgent({
    name: 'assistant',
    systemPrompt: 'Answer briefly.',
    model, // dashscope({ model: 'qwen-plus', apiKey }) of @isoloop/core/dashscope
    tools: [add],
    memory: new SessionMemory(store, 'thread-1'),
    use: [springAiAlibaba()],
  });

  const { message, text } = await agent.call('What is 2 + 40?');
  // #endregion

  expect(text).toBe('It is 42.');
  expect(message.role).toBe('assistant');
});
