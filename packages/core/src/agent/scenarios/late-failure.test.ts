import { expect, test } from 'vitest';
import { AgentError } from '../../error/agent-error.ts';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { assistantMessage, toolResultsOf, userMessage } from '../../message/msg.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { look } from '@test/support/plain-tools.ts';
import { tool } from '../../tool/tool.ts';
import { Agent } from '../agent.ts';
import type { Middleware, Run } from '../middleware.ts';
import { isNewAnswer } from '../next.ts';

const failure = new AgentError('LIMIT_EXCEEDED', 'Too much.');

test.for<[when: string, middleware: Middleware]>([
  ['in a `post-call` hook', { on: { 'post-call': (_event, run) => run.ending.fail(failure) } }],
  [
    'in work before the end',
    {
      wrapSettle: (input, next, run) => {
        run.ending.before(async () => run.ending.fail(failure));
        return next(input);
      },
    },
  ],
  [
    'after `next` of `wrapRun`',
    {
      wrapRun: async (input, next, run) => {
        const result = await next(input);
        run.ending.fail(failure);
        return result;
      },
    },
  ],
])('context.fail() %s makes the agent call fail', async ([, middleware]) => {
  const agent = new Agent({
    name: 'a',
    model: new ScriptedModel(['One.', 'Two.']),
    use: [middleware],
  });
  await expect(agent.call('Hi')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  expect(agent.busy).toBe(false);
});

test('run.ending.fail() takes any error, and the agent call fails with code INTERNAL', async () => {
  const cause = new Error('No price.');
  const middleware: Middleware = {
    wrapReply: (reply, next, run) => {
      run.ending.fail(cause);
      return next(reply);
    },
  };
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['One.']), use: [middleware] });
  await expect(agent.call('Hi')).rejects.toMatchObject({
    code: 'INTERNAL',
    message: 'No price.',
    cause,
  });
});

test('run.ending.fail() in a `run-end` hook has no effect, but its exception makes the call fail', async () => {
  const atEnd = (act: (run: Run) => void): Promise<unknown> => {
    // The type of a hook at `run-end` has no function that changes the run.
    const middleware: Middleware = { on: { 'run-end': (_event, run) => act(run as Run) } };
    const model = new ScriptedModel(['One.']);
    return new Agent({ name: 'a', model, use: [middleware] }).call('Hi');
  };
  await expect(atEnd((run) => run.ending.fail(failure))).resolves.toMatchObject({ text: 'One.' });
  const throws = (): void => {
    throw failure;
  };
  await expect(atEnd(throws)).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
});

test('a second `next` of `wrapRun` makes the agent call fail, even if the wrapper catches its error', async () => {
  const twice: Middleware = {
    name: 'twice',
    wrapRun: async (input, next) => {
      const result = await next(input);
      await next(input).catch(() => {});
      return result;
    },
  };
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['One.', 'Two.']), use: [twice] });
  await expect(agent.call('Hi')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('"twice" may call next() once'),
  });
});

test.for(['throw', 'fail'] as const)(
  'after a `wrapReply` makes the agent call fail by %s, the tool calls are closed and the next call runs',
  async (how) => {
    let isBroken = true;
    const middleware: Middleware = {
      wrapReply: async (reply, next, run) => {
        const outcome = await next(reply);
        if (isBroken && how === 'throw') throw failure;
        if (isBroken) run.ending.fail(failure);
        return outcome;
      },
    };
    const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Two.']);
    const agent = new Agent({ name: 'a', model, tools: [look], use: [middleware] });
    await expect(agent.call('Hi')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    isBroken = false;
    expect((await agent.call('Again')).text).toBe('Two.');
    expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
      { state: 'interrupted', output: 'Interrupted before it ran.' },
    ]);
  },
);

test('a warning after `next` of `wrapRun` does not change the result that the wrapper has', async () => {
  const warning = new AgentError('INTERNAL', 'Odd.').toJSON();
  const middleware: Middleware = {
    wrapRun: async (input, next, run) => {
      run.ending.addToResult({ warning });
      const result = await next(input);
      run.ending.addToResult({ warning });
      return result;
    },
  };
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['One.']), use: [middleware] });
  expect((await agent.call('Hi')).warnings).toEqual([warning]);
});

test('run.ending.fail() in a hook of `suspended` makes the agent call fail, and the call stays pending', async () => {
  const ask = tool({
    name: 'ask',
    description: '',
    input: {},
    execute: (_, { suspend }) => suspend('Ann'),
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'ask', id: 'one' }] }]);
  const agent = new Agent({ name: 'a', model, tools: [ask] });
  agent.addHook({ on: { suspended: (_event, run) => run.ending.fail(failure) } });
  const result = await agent.call('Hi', { throwOnError: false });
  expect(result).toMatchObject({ reason: 'error', error: { code: 'LIMIT_EXCEEDED' } });
  expect(result.pending).toMatchObject([{ toolUseId: 'one' }]);
});

test.for([
  ['throws', true, 'interrupted'],
  ['throws', false, undefined],
  ['fails', true, 'interrupted'],
  ['fails', false, undefined],
] as const)(
  'a wrapSettle that %s after its `next`: %s, leaves a call of an earlier run: %s',
  async ([how, isAfter, state]) => {
    const use = assistantMessage([{ type: 'tool_use', id: 'old', name: 'look', input: {} }]);
    const memory = new InMemoryMemory([userMessage('Go'), use]);
    const middleware: Middleware = {
      wrapSettle: async (input, next, run) => {
        if (isAfter) await next(input);
        if (how === 'throws') throw failure;
        run.ending.fail(failure);
        return { to: 'model' };
      },
    };
    const agent = new Agent({
      name: 'a',
      model: new ScriptedModel([]),
      tools: [look],
      memory,
      use: [middleware],
    });
    await expect(agent.call()).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    const results = (await memory.read()).flatMap(toolResultsOf);
    expect(results.map((result) => result.state)).toEqual(state ? [state] : []);
  },
);

test('an answer that a wrapReply made of a user message is stored as the reply of the assistant', async () => {
  const middleware: Middleware = {
    wrapReply: async (reply, next) => {
      const outcome = await next(reply);
      return isNewAnswer(outcome) ? { ...outcome, message: userMessage('Two.') } : outcome;
    },
  };
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['One.']), use: [middleware] });
  expect((await agent.call('Hi')).message).toMatchObject({ role: 'assistant', name: 'a' });
  expect((await agent.messages()).map(({ role }) => role)).toEqual(['user', 'assistant']);
});
