import * as z from 'zod';
import { expect, test } from 'vitest';
import {
  type EventOf,
  type Middleware,
  assistantMessage,
  userMessage,
  textOf,
  type Msg,
  tool,
  ReActAgent,
  type AgentOptions,
} from '@isoloop/core';
import { look } from '../../support/plain-tools.ts';
import { structured } from '@isoloop/core/output';
import { openAiFormatter } from '../../../packages/core/src/model/openai/openai-formatter.ts';
import { multiAgent } from '@isoloop/core/model';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';

const direct = tool({
  name: 'direct',
  description: '',
  input: {},
  returnDirect: true,
  execute: () => 'told',
});

function named(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  return new ReActAgent({ name: '小明', model, tools: [look, direct], ...options });
}

test.for<[what: string, agent: ReActAgent]>([
  ['an answer', named(['done'])],
  ['a reply with tool calls', named([{ toolCalls: [{ name: 'look' }] }, 'done'])],
  ['a summary', named(['in short'], { limits: { iterations: 0 } })],
  ['the text in place of an empty summary', named([''], { limits: { iterations: 0 } })],
  ['a direct answer', named([{ toolCalls: [{ name: 'direct' }] }])],
  [
    'an answer of a hook',
    named([], { use: [{ on: { 'pre-call': ({ jumpTo }) => jumpTo('end', 'no') } }] }),
  ],
  ['a rejection', named([], { use: [{ on: { 'pre-call': ({ reject }) => reject('no') } }] })],
  [
    'a partial reply and the text of an interrupt',
    named(['one two'], {
      use: [{ on: { 'reasoning-chunk': (_event, run) => void run.ending.interrupt() } }],
    }),
  ],
  [
    'a corrected reply of the text protocol',
    named([' ', '{"tool_name": "look"', 'done'], { use: [textToolCalls()] }),
  ],
])('%s carries the agent’s name', async ([, agent]) => {
  const { message } = await agent.call('go');
  expect(message).toMatchObject({ role: 'assistant', name: '小明' });
  for (const { role, name } of await agent.messages())
    expect(name).toBe(role === 'assistant' ? '小明' : undefined);
});

test('a structured value carries the agent’s name', async () => {
  const value = { toolCalls: [{ name: 'generate_response', input: { n: 1 } }] };
  const output = structured(z.object({ n: z.number() }));
  const { message } = await named([value]).call('go', { output });
  expect(message.name).toBe('小明');
});

test.each([
  ['post-reasoning', {}],
  ['post-call', {}],
  ['post-summary', { limits: { iterations: 0 } }],
] as const)('a reply that a hook replaces at %s carries the agent’s name', async (at, options) => {
  const replace = (event: EventOf<typeof at>) => ({ ...event, message: assistantMessage('嗯。') });
  const agent = named(['好。'], { ...options, use: [{ on: { [at]: replace } }] });
  const resets: unknown[] = [];
  const stream = agent.stream('Hi');
  for await (const event of stream)
    if (event.type === 'step-reset') resets.push(event.replacement?.name);
  const { message } = await stream.result;
  expect(message).toMatchObject({ role: 'assistant', name: '小明' });
  expect(textOf(message)).toBe('嗯。');
  expect((await agent.messages()).at(-1)).toEqual(message);
  expect(resets).toEqual(['小明']);
});

test('a hook may give a reply another name, and a replaced reply always has the role assistant', async () => {
  const replace = (message: Msg): Middleware => ({
    on: { 'post-reasoning': (event) => ({ ...event, message }) },
  });
  const other = named(['好。'], { use: [replace(assistantMessage('嗯。', { name: '小刚' }))] });
  expect((await other.call('Hi')).message).toMatchObject({ role: 'assistant', name: '小刚' });
  const user = named(['好。'], { use: [replace(userMessage('嗯。', { name: 'Ann' }))] });
  expect((await user.call('Hi')).message).toMatchObject({ role: 'assistant', name: '小明' });
});

test('in a conversation of several agents, each line has the name of its speaker', async () => {
  const says = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, '你好。', 'Again.']);
  const model = multiAgent(says, { header: 'H' });
  const agent = new ReActAgent({ name: '小明', model, tools: [look] });
  await agent.call([
    assistantMessage('Hi all.', { name: 'Bob' }),
    userMessage('Hi', { name: 'Ann' }),
  ]);
  await agent.call(userMessage('And now?', { name: 'Ann' }));
  const told = says.requests[2]!.messages.map(textOf);
  expect(told[0]).toBe('H\n<history>\nBob: Hi all.\nAnn: Hi\n</history>');
  expect(told.at(-1)).toBe('H\n<history>\n小明: 你好。\nAnn: And now?\n</history>');
});

test.for([
  ['小明', '小明'],
  ['Zoë_1', 'Zoë_1'],
  ['Мария', 'Мария'],
  ['😀'.repeat(64), '😀'.repeat(64)],
  ['Ann Lee', undefined],
  ['a/b', undefined],
  ['a\\b', undefined],
  ['<a>', undefined],
  ['a|b', undefined],
  ['', undefined],
  ['x'.repeat(65), undefined],
] as const)('chat completions get the name of a user %j as %j', ([name, sent]) => {
  const formatter = openAiFormatter({
    model: 'm',
    features: { tools: true, media: [] },
    maxTokensField: 'max_tokens',
  });
  const body = formatter.format({ messages: [userMessage('Hi', { name })], tools: [] });
  expect(JSON.parse(body as string).messages[0].name).toBe(sent);
});
