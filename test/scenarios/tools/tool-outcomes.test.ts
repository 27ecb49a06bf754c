import { Agent } from '@isoloop/core/agent';
import {
  MemoryStore,
  SessionMemory,
  tool,
  toolResultsOf,
  type Middleware,
  type ToolResult,
  type ToolUse,
} from '@isoloop/core';
import {
  allowTools,
  deniedResult,
  errorResult,
  notStarted,
  type ToolOutcome,
} from '@isoloop/core/tool';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';

test('middleware made of public helpers rejects tool calls, fails them, leaves them open and hides tools', async () => {
  const names = ['deny', 'fail', 'wait', 'hidden'];
  const middleware: Middleware = {
    wrapRequest: (draft, next, run) => {
      run.tools.set(allowTools(run.tools.current, names.slice(0, 3)));
      return next(draft);
    },
    wrapTool: async ({ toolUse }) => {
      if (toolUse.name === 'deny') return deniedResult(toolUse, 'too late');
      return toolUse.name === 'fail' ? errorResult(toolUse, 'too early') : notStarted;
    },
  };
  const tools = names.map((name) =>
    tool({ name, description: '', input: {}, execute: () => 'ran' }),
  );
  const model = new ScriptedModel([{ toolCalls: names.map((name) => ({ name })) }, 'done']);
  const agent = new Agent({ name: 'a', model, tools, use: [middleware] });
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
  const middleware: Middleware = {
    wrapTool: async (call, next, run) => {
      await run.calls.close(call.toolUse, deniedResult(call.toolUse, 'no'));
      return next(call);
    },
  };
  const ran: string[] = [];
  const look = tool({ name: 'look', description: '', input: {}, execute: () => void ran.push('') });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [middleware] });
  const ended: string[] = [];
  agent.addHook({ on: { 'post-acting': ({ result }) => void ended.push(result.state) } });
  await agent.call('go');
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([{ state: 'denied' }]);
  expect(ended).toEqual(['denied']);
  expect(ran).toEqual([]);
});

test('a tool call that a `wrapRound` closes does not run', async () => {
  const middleware: Middleware = {
    wrapRound: async (round, next, run) => {
      for (const { toolUse } of round.calls)
        await run.calls.close(toolUse, deniedResult(toolUse, 'no'));
      return next(round);
    },
  };
  const ran: string[] = [];
  const look = tool({ name: 'look', description: '', input: {}, execute: () => void ran.push('') });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }, { name: 'look' }] }, 'done']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [middleware] });
  expect((await agent.call('go')).text).toBe('done');
  expect(ran).toEqual([]);
  const states = (await agent.messages()).flatMap(toolResultsOf).map(({ state }) => state);
  expect(states).toEqual(['denied', 'denied']);
});

test('a `wrapTool` may return the result of an earlier call, and hooks and readers get it with the id of this call', async () => {
  let stored: ToolOutcome | undefined;
  const cache: Middleware = {
    wrapTool: async (call, next) => {
      stored ??= await next(call);
      return stored;
    },
  };
  const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
  const calls = ['one', 'two'].map((id) => ({ toolCalls: [{ name: 'look', id }] }));
  const model = new ScriptedModel([...calls, 'done']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [cache] });
  const hooked: string[] = [];
  agent.addHook({ on: { 'post-acting': ({ result }) => void hooked.push(result.toolUseId) } });
  const read: string[] = [];
  for await (const event of agent.stream('go'))
    if (event.type === 'post-acting') read.push(event.result.toolUseId);
  expect({ hooked, read }).toEqual({ hooked: ['one', 'two'], read: ['one', 'two'] });
});

test('a `wrapTool` that returns no tool result gives the call an error that names the type', async () => {
  const middleware: Middleware = { wrapTool: async () => 'seen' as never };
  const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [middleware] });
  await agent.call('go');
  const [result] = (await agent.messages()).flatMap(toolResultsOf);
  expect(result?.output).toBe(
    'Error: The result of wrapTool() of "unnamed" for "look" must be a `ToolResult`, such as ' +
      'that of `next`.',
  );
});

test('a result of middleware with an unknown state becomes an error that names the tool and the state', async () => {
  const result = (toolUse: ToolUse): ToolResult => ({
    ...deniedResult(toolUse, 'no'),
    state: 'ok' as never,
  });
  const wrapping: Middleware = { wrapTool: async (call) => result(call.toolUse) };
  const closing: Middleware = {
    wrapRound: async (round, next, run) => {
      for (const { toolUse } of round.calls) await run.calls.close(toolUse, result(toolUse));
      return next(round);
    },
  };
  const middlewareByText = {
    'The result of wrapTool() of "unnamed" for "look"': wrapping,
    'The result for "look"': closing,
  };
  for (const [what, middleware] of Object.entries(middlewareByText)) {
    const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
    const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']);
    const memory = new SessionMemory(new MemoryStore(), 's');
    const agent = new Agent({ name: 'a', model, memory, tools: [look], use: [middleware] });
    expect((await agent.call('go')).text).toBe('done');
    expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
      {
        state: 'error',
        output: expect.stringContaining(`Error: ${what}: state must be 'success' or`),
      },
    ]);
  }
});

test('a result of middleware has the name of its call, also if it is the result of another tool', async () => {
  const middleware: Middleware = {
    wrapTool: async () => deniedResult({ type: 'tool_use', id: 'x', name: 'pay', input: {} }),
  };
  const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look', id: 'one' }] }, 'done']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [middleware] });
  await agent.call('go');
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { toolUseId: 'one', name: 'look' },
  ]);
});

test('a result that `wrapRound` gives is checked', async () => {
  const middleware: Middleware = {
    wrapRound: (round, next) => {
      const result = { type: 'tool_result', name: 'pay', output: 'x' } as unknown as ToolResult;
      return next({ ...round, calls: round.calls.map((call) => ({ ...call, result })) });
    },
  };
  const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look', id: 'one' }] }, 'done']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [middleware] });
  await agent.call('go');
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { toolUseId: 'one', name: 'look', state: 'error' },
  ]);
});

test('two middleware that close the same call store one result', async () => {
  const closing = (reason: string): Middleware => ({
    wrapRound: async (round, next, run) => {
      for (const { toolUse } of round.calls)
        await run.calls.close(toolUse, deniedResult(toolUse, reason));
      return next(round);
    },
  });
  const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']);
  const use = [closing('first'), closing('second')];
  const agent = new Agent({ name: 'a', model, tools: [look], use });
  const read: unknown[] = [];
  for await (const event of agent.stream('go'))
    if (event.type === 'post-acting') read.push(event.result.output);
  expect(read).toHaveLength(1);
  expect((await agent.messages()).flatMap(toolResultsOf)).toHaveLength(1);
});

test('a round does not run a call that no message has', async () => {
  const ran: string[] = [];
  const look = tool({ name: 'look', description: '', input: {}, execute: () => void ran.push('') });
  const middleware: Middleware = {
    wrapRound: (round, next) => {
      const [call] = round.calls;
      const invented = { ...call!, toolUse: { ...call!.toolUse, id: 'invented' } };
      return next({ ...round, calls: [call!, invented] });
    },
  };
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look', id: 'one' }] }, 'done']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [middleware] });
  await agent.call('go');
  expect(ran).toHaveLength(1);
  const results = (await agent.messages()).flatMap(toolResultsOf);
  expect(results.map(({ toolUseId }) => toolUseId)).toEqual(['one']);
});

test('a call that a wrapper gives to the round twice runs once', async () => {
  const ran: string[] = [];
  const look = tool({ name: 'look', description: '', input: {}, execute: () => void ran.push('') });
  const middleware: Middleware = {
    wrapRound: (round, next, run) => next({ ...round, calls: [...round.calls, ...run.calls.open] }),
  };
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']);
  await new Agent({ name: 'a', model, tools: [look], use: [middleware] }).call('go');
  expect(ran).toHaveLength(1);
});

test('run.calls.close() stores an error result in place of a value that is no result', async () => {
  const middleware: Middleware = {
    wrapRound: async (round, next, run) => {
      for (const { toolUse } of round.calls) await run.calls.close(toolUse, { name: 'x' } as never);
      return next(round);
    },
  };
  const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look', id: 'one' }] }, 'done', 'good']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [middleware] });
  await agent.call('go');
  expect((await agent.call('And now?')).text).toBe('good');
  const results = (await agent.messages()).flatMap(toolResultsOf);
  expect(results).toMatchObject([{ toolUseId: 'one', state: 'error' }]);
});
