import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region first-tool
import { ReActAgent, tool } from '@isoloop/core';
import * as z from 'zod';
// #endregion

test('the model calls a tool and answers with its result', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }] },
    'Yes, it rains in Oslo.',
  ]);
  const log = vi.spyOn(console, 'log').mockReturnValue();

  // #region first-tool
  const weather = tool({
    name: 'weather',
    description: 'Tells the weather of a city',
    input: z.object({ city: z.string() }),
    execute: ({ city }) => `It rains in ${city}.`,
  });
  const agent = new ReActAgent({ name: 'guide', model, tools: [weather] });
  const { text } = await agent.call('Do I need an umbrella in Oslo?');
  console.log(text); // Yes, it rains in Oslo.
  // #endregion

  expect(log.mock.calls).toEqual([['Yes, it rains in Oslo.']]);
  expect(JSON.stringify(model.requests[1]?.messages)).toContain('It rains in Oslo.');
});
