import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region from-oxygent
import { ReActAgent, tool } from '@isoloop/core';
import { oxygent } from '@isoloop/presets';
import * as z from 'zod';
// #endregion

test('the program of OxyGent, written with Isoloop, calls its tool by JSON in the text and answers', async () => {
  const textModel = new ScriptedModel([
    '{"tool_name": "add", "arguments": {"a": 2, "b": 40}}',
    'It is 42.',
  ]);
  // #region from-oxygent
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });
  const agent = new ReActAgent({
    name: 'assistant',
    systemPrompt: 'Answer briefly. ${tools_description}',
    model: textModel, // openai({ model, baseURL, apiKey }) of @isoloop/core/openai
    tools: [add],
    use: [oxygent()],
  });

  const { text } = await agent.call('What is 2 + 40?', { throwOnError: false });
  // #endregion

  expect(text).toBe('It is 42.');
  expect(JSON.stringify(textModel.requests[0]!.messages)).toContain('Adds two numbers.');
});
