import { Agent } from '@isoloop/core/kernel';
import { tool, toolResultsOf, type Middleware } from '@isoloop/core';
import { allowTools, deniedResult, errorResult, notStarted } from '@isoloop/core/middleware';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';

test('a part made of public helpers rejects tool calls, fails them, leaves them open and hides tools', async () => {
  const names = ['deny', 'fail', 'wait', 'hidden'];
  const part: Middleware = {
    wrapRequest: (next) => (draft, context) => {
      context.setTools(allowTools(context.tools, names.slice(0, 3)));
      return next(draft);
    },
    wrapTool:
      () =>
      async ({ toolUse }) => {
        if (toolUse.name === 'deny') return deniedResult(toolUse, 'too late');
        return toolUse.name === 'fail' ? errorResult(toolUse, 'too early') : notStarted;
      },
  };
  const tools = names.map((name) =>
    tool({ name, description: '', input: {}, execute: () => 'ran' }),
  );
  const model = new ScriptedModel([{ toolCalls: names.map((name) => ({ name })) }, 'done']);
  const agent = new Agent({ name: 'a', model, tools, use: [part] });
  await agent.call('go');
  const results = (await agent.messages()).flatMap(toolResultsOf);
  expect(results.map(({ name, state, output }) => [name, state, output])).toEqual([
    ['deny', 'denied', 'Tool call rejected: too late'],
    ['fail', 'error', 'Error: too early'],
    ['wait', 'interrupted', expect.any(String)],
    ['hidden', 'error', 'Error: Tool not allowed: hidden.'],
  ]);
});

test('a tool call that a wrapper closes does not run, and gets no second result', async () => {
  const part: Middleware = {
    wrapTool: (next) => async (call, _context, steps) => {
      await steps.closeCall(call.toolUse, deniedResult(call.toolUse, 'no'));
      return next(call);
    },
  };
  const ran: string[] = [];
  const look = tool({ name: 'look', description: '', input: {}, execute: () => void ran.push('') });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [part] });
  const ended: string[] = [];
  agent.addHook({ on: { 'post-acting': ({ result }) => void ended.push(result.state) } });
  await agent.call('go');
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([{ state: 'denied' }]);
  expect(ended).toEqual(['denied']);
  expect(ran).toEqual([]);
});

test('a tool call that a `wrapRound` closes does not run', async () => {
  const part: Middleware = {
    wrapRound: (next) => async (round, _context, steps) => {
      for (const { toolUse } of round.calls)
        await steps.closeCall(toolUse, deniedResult(toolUse, 'no'));
      return next(round);
    },
  };
  const ran: string[] = [];
  const look = tool({ name: 'look', description: '', input: {}, execute: () => void ran.push('') });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }, { name: 'look' }] }, 'done']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [part] });
  expect((await agent.call('go')).text).toBe('done');
  expect(ran).toEqual([]);
  const states = (await agent.messages()).flatMap(toolResultsOf).map(({ state }) => state);
  expect(states).toEqual(['denied', 'denied']);
});
