import { expect, test } from 'vitest';
import * as z from 'zod';
import { textOf } from '../message/message-text.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { agentscope } from './agentscope.ts';
import { ReActAgent } from '../agent/react-agent.ts';

const search = tool({
  name: 'search',
  description: '',
  input: z.object({ query: z.string(), user: z.string() }),
  preset: { user: 'preset' },
  execute: ({ query, user }) => `${query} for ${user}`,
});

test('pre-call is a notification: what a hook returns is ignored', async () => {
  const model = new ScriptedModel(['fine', 'fine']);
  const swap = {
    on: { 'pre-call': (event: { input: unknown }) => ({ ...event, input: [] }) as never },
  };
  const preset = new ReActAgent({ name: 'a', model, use: [agentscope(), swap] });
  await preset.call('kept');
  expect(textOf(model.requests[0]!.messages[0]!)).toBe('kept');
  const own = new ReActAgent({ name: 'a', model, use: [swap] });
  await expect(own.call('gone')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('the model’s parameter wins over a preset one', async () => {
  const reply = { toolCalls: [{ name: 'search', input: { query: 'x', user: 'model' } }] };
  const model = new ScriptedModel([reply, 'done', reply, 'done']);
  await new ReActAgent({ name: 'a', model, tools: [search], use: [agentscope()] }).call('go');
  expect(JSON.stringify(model.requests[1]!.messages)).toContain('x for model');
  await new ReActAgent({ name: 'a', model, tools: [search] }).call('go');
  expect(JSON.stringify(model.requests[3]!.messages)).toContain('x for preset');
});

test('ten rounds, then a summary asked for in its words', async () => {
  const round = { toolCalls: [{ name: 'search', input: { query: 'x' } }] };
  const model = new ScriptedModel([...Array.from({ length: 10 }, () => round), 'summed up']);
  const result = await new ReActAgent({
    name: 'a',
    model,
    tools: [search],
    use: [agentscope()],
  }).call('go');
  expect(result).toMatchObject({ reason: 'max-iterations', text: 'summed up', iterations: 10 });
  const last = model.requests.at(-1)!;
  expect(last.tools).toEqual([]);
  expect(textOf(last.messages.at(-1)!)).toContain('within the maximum iterations');
});

test('its words after an interrupt', async () => {
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel(['one two three']),
    use: [agentscope()],
  });
  agent.addHook({ on: { 'reasoning-chunk': () => void agent.interrupt() } });
  expect((await agent.call('go')).text).toContain('you have interrupted me');
});
