import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region from-agentscope
import { ReActAgent, tool } from '@isoloop/core';
import { agentscope } from '@isoloop/presets';
import { Toolkit } from '@isoloop/core/tool';
import * as z from 'zod';
// #endregion

test('the program of AgentScope, written with Isoloop, calls its tool and answers', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'add', input: { a: 2, b: 40 } }] },
    'It is 42.',
  ]);

  // #region from-agentscope
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });
  const agent = new ReActAgent({
    name: 'assistant',
    systemPrompt: 'Answer briefly.',
    model, // dashscope({ model: 'qwen-plus', apiKey }) of @isoloop/core/dashscope
    tools: new Toolkit([add]),
    use: [agentscope()],
    limits: { iterations: 10 },
  });

  const { text } = await agent.call('What is 2 + 40?');
  // #endregion

  expect(text).toBe('It is 42.');
});
