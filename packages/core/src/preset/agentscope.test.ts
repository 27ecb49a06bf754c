import { expect, test } from 'vitest';
import * as z from 'zod';
import { AgentError } from '../error/agent-error.ts';
import type { Middleware } from '../loop/use/middleware.ts';
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

test('pre-call is a notification: the result of a hook is ignored', async () => {
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

test('the model’s parameter overrides a preset one', async () => {
  const reply = { toolCalls: [{ name: 'search', input: { query: 'x', user: 'model' } }] };
  const model = new ScriptedModel([reply, 'done', reply, 'done']);
  await new ReActAgent({ name: 'a', model, tools: [search], use: [agentscope()] }).call('go');
  expect(JSON.stringify(model.requests[1]!.messages)).toContain('x for model');
  await new ReActAgent({ name: 'a', model, tools: [search] }).call('go');
  expect(JSON.stringify(model.requests[3]!.messages)).toContain('x for preset');
});

test("ten rounds, then a summary with AgentScope's prompt", async () => {
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

test.for([
  [[agentscope()], undefined, 1],
  [[agentscope()], Infinity, 3],
  [[agentscope()], 2, 2],
  [[], undefined, 3],
] as const)(
  'tools run one at a time, unless the agent says otherwise (%#)',
  async ([use, parallelTools, most]) => {
    let running = 0;
    let seen = 0;
    const slow = tool({
      name: 'slow',
      description: '',
      input: {},
      async execute() {
        seen = Math.max(seen, (running += 1));
        for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
        running -= 1;
      },
    });
    const toolCalls = Array.from({ length: 3 }, () => ({ name: 'slow' }));
    const model = new ScriptedModel([{ toolCalls }, 'done']);
    const limits = parallelTools === undefined ? {} : { parallelTools };
    await new ReActAgent({ name: 'a', model, tools: [slow], use, limits }).call('go');
    expect(seen).toBe(most);
  },
);

test('a failing summary gives its words, without the text of the error', async () => {
  const round = { toolCalls: [{ name: 'search', input: { query: 'x' } }] };
  const replies = [round, [{ error: new AgentError('MODEL_SERVER', 'secret') }]];
  const agent = (use: readonly (readonly Middleware[])[]): ReActAgent =>
    new ReActAgent({
      name: 'a',
      model: new ScriptedModel(replies),
      tools: [search],
      use,
      limits: { iterations: 1 },
    });
  const result = await agent([agentscope()]).call('go');
  expect(result).toMatchObject({
    reason: 'max-iterations',
    text: 'Maximum iterations (1) reached. Unable to generate summary.',
  });
  expect(JSON.stringify(result)).not.toContain('secret');
  await expect(agent([]).call('go')).rejects.toMatchObject({ code: 'MODEL_SERVER' });
});

test("has AgentScope's message after an interrupt", async () => {
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel(['one two three']),
    use: [agentscope()],
  });
  agent.addHook({ on: { 'reasoning-chunk': () => void agent.interrupt() } });
  expect((await agent.call('go')).text).toContain('you have interrupted me');
});
