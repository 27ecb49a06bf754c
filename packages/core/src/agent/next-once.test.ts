import { expect, test } from 'vitest';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { Agent } from './agent.ts';
import type { Middleware, Wrap } from './middleware.ts';

/** Returns a wrapper that calls `next` twice. */
const twice: Wrap<never, never> = async (given, next) => {
  await next(given);
  return next(given);
};

type StepWrapper = Exclude<keyof Middleware & `wrap${string}`, 'wrapModel' | 'wrapTool'>;

const wrappers: readonly StepWrapper[] = [
  'wrapRun',
  'wrapInput',
  'wrapSettle',
  'wrapRequest',
  'wrapReply',
  'wrapRound',
];

function setUp(use: readonly Middleware[]) {
  const runs: string[] = [];
  const look = tool({
    name: 'look',
    description: '',
    input: {},
    execute: (_input, { toolUseId }) => void runs.push(toolUseId),
  });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'look', id: 'one' }] },
    { toolCalls: [{ name: 'look', id: 'two' }] },
    'Seen.',
  ]);
  return { agent: new Agent({ name: 'a', model, tools: [look], use }), model, runs };
}

test.each(wrappers)('a second call of `next` in %s makes the agent call fail', async (key) => {
  const { agent, model, runs } = setUp([{ name: 'eager', [key]: twice }]);
  await expect(agent.call('Look')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: `${key}() of "eager" may call next() once.`,
  });
  // Nothing ran twice.
  expect(runs.length).toBe(new Set(runs).size);
  expect(runs.length).toBeLessThan(key === 'wrapRun' ? 3 : 2);
  expect(model.requests.length).toBeLessThan(key === 'wrapRun' ? 4 : 2);
});

test('a wrapper may call `next` once in each of its calls, also at the same time and inside each other', async () => {
  const seen: string[] = [];
  const nested: Middleware = {
    wrapSettle: async (input, next, run) => {
      const inputs = [run.inbox.admit(input), run.inbox.admit(input)];
      await Promise.all(inputs);
      return next(input);
    },
    wrapInput: async (input, next) => {
      seen.push('input');
      return next(input);
    },
    wrapReply: async (reply, next, run) => {
      seen.push(reply.request ? 'reply' : 'inner reply');
      if (reply.request) await run.ending.reply(reply.message, 'stop');
      return next(reply);
    },
  };
  const { agent } = setUp([nested]);
  expect(await agent.call('Look')).toMatchObject({ reason: 'stop', text: 'Seen.' });
  const reply = ['reply', 'inner reply'];
  expect(seen).toEqual(['input', 'input', 'input', ...reply, ...reply, ...reply]);
});

test('a second call of `next` fails the agent call, also if the wrapper catches the rejection', async () => {
  const catching: Middleware = {
    name: 'eager',
    wrapReply: async (reply, next) => {
      const first = await next(reply);
      return next(reply).catch(() => first);
    },
  };
  const { agent } = setUp([catching]);
  await expect(agent.call('Look')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: 'wrapReply() of "eager" may call next() once.',
  });
});
