import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ReActAgent, textOf, tool, type ModelDelta } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { redirectFetch } from './redirect-fetch.ts';
// #region one-agent
import { openaiResponses } from '@isoloop/core/responses';
import * as z from 'zod';
// #endregion

test('one agent calls a tool, answers and keeps the conversation', async () => {
  const apiKey = 'sk-test';
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const script = [[{ name: 'add', arguments: { a: 2, b: 40 } }], '2 + 40 = {results}.'];
  const sent = redirectFetch('https://api.openai.com/v1', '/scripted/v1', (body) => ({
    ...body,
    script,
  }));

  // #region one-agent
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });
  const agent = new ReActAgent({
    name: 'assistant',
    systemPrompt: 'Answer briefly.',
    model: openaiResponses({ model: 'gpt-5-mini', apiKey }),
    tools: [add],
  });

  const result = await agent.call('What is 2 + 40?');
  console.log(result.text, result.reason, result.toolsUsed, result.usage);
  // #endregion

  expect(log.mock.calls).toEqual([
    ['2 + 40 = 42.', 'stop', ['add'], { inputTokens: 30, outputTokens: 10 }],
  ]);
  expect(sent.map(({ headers }) => headers.get('authorization'))).toEqual([
    'Bearer sk-test',
    'Bearer sk-test',
  ]);

  // #region conversation
  await agent.observe('By the way, my name is Ann.'); // adds a message without a request
  await agent.call('And 3 + 40?'); // continues the conversation
  for (const message of await agent.messages()) console.log(message.role, textOf(message));
  // #endregion

  const roles = log.mock.calls.slice(1).map(([role]) => role as unknown);
  expect(roles.join(' ')).toBe('user assistant tool assistant user user assistant tool assistant');
  expect(sent.at(-1)?.body['input']).toContainEqual({
    role: 'user',
    content: 'By the way, my name is Ann.',
  });
});

test('the result says that the answer is incomplete', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const deltas: readonly ModelDelta[] = [
    { type: 'text', id: 't', delta: 'Once upon a' },
    { type: 'finish', reason: 'length' },
  ];
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([{ deltas: [deltas] }]) });

  // #region incomplete
  const story = await agent.call('Tell me a long story.');
  if (story.incomplete) console.warn(`The answer may not be whole: ${story.incomplete}.`);
  // #endregion

  expect(warn.mock.calls).toEqual([['The answer may not be whole: length.']]);
});
