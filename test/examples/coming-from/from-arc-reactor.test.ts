import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region from-arc-reactor
import { ReActAgent, tool } from '@isoloop/core';
import { arcReactor } from '@isoloop/presets';
import * as z from 'zod';
// #endregion

test('the program of Arc Reactor, written with Isoloop, calls its tool and returns a result', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'add', input: { a: 2, b: 40 } }] },
    'It is 42.',
  ]);

  // #region from-arc-reactor
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });
  const preset = arcReactor(); // share it: its agents share the limits of users and of concurrent calls
  const agent = new ReActAgent({
    name: 'assistant',
    systemPrompt: 'Answer briefly.',
    model,
    userId: 'ann',
    tools: [add],
    use: [preset],
  });

  const result = await agent.call('What is 2 + 40?', { throwOnError: false });
  const answer = result.error ? result.error.code : result.text;
  // #endregion

  expect(answer).toBe('It is 42.');
  expect(result.toolsUsed).toEqual(['add']);
});
