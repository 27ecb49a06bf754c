import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region concepts-loop
import { ReActAgent, tool } from '@isoloop/core';
import * as z from 'zod';
// #endregion

test('the page about concepts shows the order of events, and the messages of the log', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'add', input: { a: 2, b: 40 } }] },
    'It is 42.',
  ]);

  // #region concepts-loop
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });
  const agent = new ReActAgent({ name: 'assistant', model, tools: [add] });

  const order: string[] = [];
  for await (const { type } of agent.stream('What is 2 + 40?'))
    if (!type.endsWith('-chunk')) order.push(type);
  console.assert(order.includes('pre-acting'));

  const roles = (await agent.messages()).map(({ role }) => role);
  console.assert(roles.join() === 'user,assistant,tool,assistant'); // the log
  // #endregion

  expect(order).toEqual([
    'run-start',
    'pre-call',
    'pre-reasoning',
    'post-reasoning',
    'pre-acting',
    'post-acting',
    'pre-reasoning',
    'post-reasoning',
    'post-call',
    'run-end',
  ]);
});
