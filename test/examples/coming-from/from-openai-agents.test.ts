import { expect, test, vi } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region from-openai-agents
import { ReActAgent, tool } from '@isoloop/core';
import { textStream } from '@isoloop/core/stream';
import * as z from 'zod';
// #endregion

test('the program of OpenAI Agents, written with Isoloop, calls its tool and answers', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'add', input: { a: 2, b: 40 } }] },
    'It is 42.',
  ]);
  const write = vi.fn<(text: string) => void>();

  // #region from-openai-agents
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });
  const agent = new ReActAgent({
    name: 'assistant',
    systemPrompt: 'Answer briefly.',
    model, // openaiResponses({ model: 'gpt-5-mini', apiKey }) of @isoloop/core/openai
    tools: [add],
    limits: { iterations: 10 }, // the default
  });

  for await (const text of textStream(agent.stream('What is 2 + 40?'))) write(text);
  // #endregion

  expect(write.mock.calls.join('')).toBe('It is 42.');
  expect(model.requests).toHaveLength(2);
});
