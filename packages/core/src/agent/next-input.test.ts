import { expect, test } from 'vitest';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { Agent } from './agent.ts';
import type { Middleware } from './middleware.ts';

const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });

function agentWith(middleware: object): Agent {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done.']);
  const use = [{ name: 'mine', ...middleware } as Middleware];
  return new Agent({ name: 'a', model, tools: [look], use });
}

const wrappers = [
  ['wrapRun', 'messages must be an array'],
  ['wrapInput', 'messages must be an array'],
  ['wrapSettle', 'messages must be an array'],
  ['wrapRequest', 'messages must be an array'],
  ['wrapReply', 'message must be an object'],
  ['wrapRound', 'calls must be an array'],
  ['wrapTool', 'tool must be an object'],
] as const;

test.each(wrappers)(
  'a `next` of %s without the input of its step says what is missing',
  async (key, problem) => {
    type Next = (input?: object) => Promise<unknown>;
    const where = `The input of next() in ${key}() of "mine"`;
    for (const [given, message] of [
      [undefined, `${where} must be an object; got nothing.`],
      [{}, `${where}: ${problem}; got nothing.`],
    ] as const) {
      const agent = agentWith({ [key]: async (_input: object, next: Next) => next(given) });
      await expect(agent.call('Go')).rejects.toMatchObject({ code: 'CONFIGURATION', message });
    }
  },
);

test.each([
  ['kind', { kind: 'done', reason: 'stop' }],
  ['message', { kind: 'answer', reason: 'stop' }],
  ['message', { kind: 'custom', reason: 'stop', message: 'Done.' }],
  ['message', { kind: 'stored', reason: 'stop' }],
  ['draft', { kind: 'limit', reason: 'limit' }],
])('the error of a wrong ending names its field %s: %j', async (field, ending) => {
  for (const key of ['wrapSettle', 'wrapRequest', 'wrapReply', 'wrapRound']) {
    const message = expect.stringMatching(
      `^The result of ${key}\\(\\) of "mine": ${field} must be `,
    );
    const call = agentWith({ [key]: async () => ending }).call('Go');
    await expect(call).rejects.toMatchObject({ code: 'CONFIGURATION', message });
  }
});

test('an input without decisions that `wrapInput` returns is refused', async () => {
  const agent = agentWith({ wrapInput: async () => ({ messages: [] }) });
  const message = 'The result of wrapInput() of "mine": decisions must be an array; got nothing.';
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'CONFIGURATION', message });
});

test('a `wrapTool` cannot change the id of a call', async () => {
  const agent = agentWith({
    wrapTool: (call, next) => next({ ...call, toolUse: { ...call.toolUse, id: 'other' } }),
  } satisfies Middleware);
  expect(await agent.call('Go')).toMatchObject({ text: 'Done.', toolsUsed: ['look'] });
});

test('`run.ending.reply()` for a message that it passes through `wrapReply` fails the call', async () => {
  const agent = agentWith({
    async wrapReply(reply, next, run) {
      await next(reply);
      return run.ending.reply(run.createMessage('assistant', 'Mine.'), 'stop');
    },
  } satisfies Middleware);
  const message = expect.stringContaining('call it only if the reply has a `request`');
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'CONFIGURATION', message });
});

test('`run.log.edit()` refuses a message with an id that is in use, and another argument', async () => {
  const editWith = (change: (question: object) => unknown): Agent =>
    agentWith({
      async wrapReply(reply, next, run) {
        await run.log.edit(change(run.messages[0]!) as object);
        return next(reply);
      },
    } satisfies Middleware);
  const inUse = { code: 'INVALID_INPUT', message: expect.stringContaining('is in use') };
  await expect(editWith((question) => ({ append: [question] })).call('Go')).rejects.toMatchObject(
    inUse,
  );
  const moved = editWith((question) => ({
    remove: [(question as { readonly id: string }).id],
    append: [question],
  }));
  expect(await moved.call('Go')).toMatchObject({ text: 'Done.' });
  for (const change of [undefined, 'Hi', { append: 'Hi' }])
    await expect(editWith(() => change).call('Go')).rejects.toMatchObject({
      code: 'CONFIGURATION',
    });
});
