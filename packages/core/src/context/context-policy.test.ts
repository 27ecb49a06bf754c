import { expect, test } from 'vitest';
import * as z from 'zod';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import {
  contextPolicy,
  type ContextRequest,
  type ContextPolicy,
  type FittedContext,
} from './context-policy.ts';
import { fitContext } from './fit-context.ts';
import { systemMessage, userMessage, textOf, type Msg, assistantMessage } from '../message/msg.ts';
import type { Middleware } from '../agent/middleware.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { countMessage } from '../tokens/count-message.ts';
import { tool } from '../tool/tool.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { structured } from '../output/structured.ts';
import { prepending } from '@test/support/prepending.ts';
import { noUsage } from '../model/chat-model.ts';
import { fitInTurn } from '@test/support/in-turn.ts';
import { lastTurns } from './history-views.ts';

const look = tool({ name: 'look', description: '', input: {}, execute: () => 'found' });

test('a context policy gets the whole request, and its usage is part of the call’s usage', async () => {
  const seen: ContextRequest[] = [];
  const context = contextPolicy({
    fit(request) {
      seen.push(request);
      return {
        messages: request.messages,
        removed: 0,
        before: 1,
        after: 1,
        usage: { inputTokens: 100, outputTokens: 1 },
      };
    },
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done.']);
  const recall = prepending(async () => [userMessage('You know Ann.')]);
  const agent = new ReActAgent({
    name: 'a',
    systemPrompt: 'Be kind.',
    sessionId: 's1',
    model,
    tools: [look],
    use: [recall, context],
  });
  const stream = agent.stream('go');
  const types = [];
  for await (const { type } of stream) types.push(type);
  expect((await stream.result).usage).toEqual({ inputTokens: 220, outputTokens: 12 });
  expect(types).not.toContain('context-fitted');
  expect(seen.map(({ messages }) => messages.length)).toEqual([3, 5]);
  const [user] = await agent.messages();
  for (const request of seen) {
    expect(request).toMatchObject({
      fixedCount: 2,
      sessionId: 's1',
      questionId: user!.id,
      tools: [{ name: 'look' }],
    });
    expect(request.model).toMatchObject({ provider: model.provider, modelId: model.modelId });
    expect(request.signal).toBeInstanceOf(AbortSignal);
  }
});

test('later policies keep a message that a policy put before the conversation, and tools do not see it', async () => {
  const shown: string[][] = [];
  const asking = tool({
    name: 'look',
    description: '',
    input: {},
    execute(_input, { messages }) {
      shown.push(messages.map(textOf));
      return 'found';
    },
  });
  const put = contextPolicy({
    fit: ({ messages, fixedCount = 0 }) => ({
      messages: messages.toSpliced(fixedCount, 0, userMessage('note')),
      removed: 0,
      before: 0,
      after: 0,
      fixedCount: fixedCount + 1,
    }),
  });
  const seen: unknown[] = [];
  const last = contextPolicy({
    fit({ messages, fixedCount }) {
      seen.push([messages.map(textOf).slice(0, fixedCount), fixedCount]);
      return { messages, removed: 0, before: 0, after: 0 };
    },
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'look' }] }, 'Done.'], {
    systemPrompt: 'Be kind.',
    tools: [asking],
    use: [put, prepending(async () => [userMessage('You know Ann.')]), last],
  });
  await agent.call('go');
  const head = [['Be kind.', 'You know Ann.', 'note'], 3];
  expect(seen).toEqual([head, head]);
  expect(shown).toEqual([['Be kind.', 'You know Ann.', 'go', '']]);
});

test('an interrupt aborts the signal of a context policy, and no model request is made', async () => {
  let raised = false;
  const model = new ScriptedModel(['Never.']);
  const agent: ReActAgent = new ReActAgent({
    name: 'a',
    model,
    use: [
      contextPolicy({
        fit: ({ messages, signal }) =>
          new Promise((resolve) => {
            signal!.addEventListener('abort', () => {
              raised = true;
              resolve({ messages, removed: 0, before: 0, after: 0 });
            });
            agent.interrupt('Stopped.');
          }),
      }),
    ],
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'interrupted', text: 'Stopped.' });
  expect([raised, model.requests.length]).toEqual([true, 0]);
});

test('a context policy that fails ends the call with its error', async () => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([]), use: [fitContext()] });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('window') as string,
  });
});

test.each<[string, (request: ContextRequest) => unknown]>([
  ['a call without its result', ({ messages }) => messages.filter(({ role }) => role !== 'tool')],
  [
    'a result without its call',
    ({ messages }) => messages.filter(({ role }) => role !== 'assistant'),
  ],
  ['invalid messages', () => [{ role: 'user' }]],
])('a context policy that leaves %s fails the call before the model request', async (_, cut) => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']);
  const context = contextPolicy({
    fit: (request) =>
      request.messages.length < 3
        ? { messages: request.messages, removed: 0, before: 0, after: 0 }
        : { messages: cut(request) as readonly Msg[], removed: 1, before: 2, after: 1 },
  });
  const agent = new ReActAgent({ name: 'a', model, tools: [look], use: [context] });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    message: expect.stringContaining('valid messages') as string,
  });
  expect(model.requests).toHaveLength(1);
  const noResult = contextPolicy({ fit: () => undefined as never });
  const nothing = new ReActAgent({ name: 'a', model, use: [noResult] });
  await expect(nothing.call('go')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('The result of a context policy') as string,
  });
});

test('fitContext() counts the tokens that an output mode adds to the messages', async () => {
  const before: number[] = [];
  const fitting = fitContext({ window: 9_000 });
  const context = contextPolicy({
    async fit(request) {
      const fitted = await fitting.fit(request);
      before.push(fitted.before);
      return fitted;
    },
  });
  const { agent, model } = scriptedAgent(['{"n":1}', 'Two.'], {
    systemPrompt: 'Be kind.',
    use: [context],
  });
  await agent.call('go', { output: structured(z.object({ n: z.number() }), { mode: 'prompt' }) });
  const told = textOf(model.requests[0]!.messages[0]!).replace('Be kind.\n', '');
  expect(told).toContain('JSON Schema');
  expect(before[0]).toBe(
    countMessage(systemMessage('Be kind.')) +
      countMessage(userMessage('go')) +
      countMessage(systemMessage(told)),
  );
});

test('the log stores the run id of each user message, and marks the answer to an interrupt', async () => {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'look' }] }, 'Done.', 'one two'], {
    tools: [look],
  });
  const first = agent.stream(userMessage('go', { metadata: { locale: 'en' } }));
  for await (const { type } of first)
    if (type === 'pre-acting') agent.interrupt({ mode: 'inject', messages: 'more' });
  const second = agent.stream('again');
  for await (const { type } of second)
    if (type === 'reasoning-chunk') agent.interrupt(userMessage('As you like.'));
  const log = await agent.messages();
  expect(
    log
      .filter(({ role }) => role !== 'tool')
      .map(({ metadata = {} }) => [metadata['runId'], metadata['reason']]),
  ).toEqual([
    [first.runId, undefined],
    [undefined, undefined],
    [first.runId, undefined],
    [undefined, undefined],
    [second.runId, undefined],
    [undefined, undefined],
    [undefined, 'interrupted'],
  ]);
  expect(log[0]!.metadata).toEqual({ locale: 'en', runId: first.runId });
});

test('each policy that leaves something out sends its own `context-fitted`', async () => {
  const without = (text: string, before: number): Middleware =>
    contextPolicy({
      fit({ messages }) {
        const kept = messages.filter((message) => textOf(message) !== text);
        const removed = messages.length - kept.length;
        return { messages: kept, removed, before, after: before - removed };
      },
    });
  const model = new ScriptedModel(['Done.']);
  const use = [without('one', 9), without('none', 5), without('two', 7)];
  const agent = new ReActAgent({ name: 'a', model, use });
  await agent.observe([userMessage('one'), userMessage('two')]);
  const fitted: unknown[] = [];
  agent.addHook({
    on: {
      'context-fitted': ({ removed, before, after }) => void fitted.push([removed, before, after]),
    },
  });
  await agent.call('three');
  expect(fitted).toEqual([
    [1, 9, 8],
    [1, 7, 6],
  ]);
});

const messages = [0, 1, 2, 3].flatMap((n) => [
  userMessage('x'.repeat(40), { id: `u${n}` }),
  assistantMessage('x'.repeat(40), { id: `a${n}` }),
]);
const request: ContextRequest = {
  messages: [...messages, userMessage('x'.repeat(40), { id: 'p' })],
  tools: [],
  questionId: 'p',
};
const idsOf = (list: readonly Msg[]): string => list.map(({ id }) => id).join(' ');

const without = (id: string): ContextPolicy => ({
  fit({ messages: given }) {
    const left = given.filter((message) => message.id !== id);
    return {
      messages: left,
      removed: given.length - left.length,
      before: 90,
      after: 10 * left.length,
    };
  },
});

test('each context policy gets the messages that the previous policy left, and all removed messages are counted', async () => {
  const seen: string[] = [];
  const watch: ContextPolicy = {
    fit(given) {
      seen.push(idsOf(given.messages));
      return without('a0').fit(given);
    },
  };
  const fitted = await fitInTurn([without('u0'), watch, lastTurns(2)], request);
  expect(seen).toEqual(['a0 u1 a1 u2 a2 u3 a3 p']);
  expect(fitted).toEqual({
    messages: request.messages.slice(4),
    removed: 4,
    before: 90,
    after: 50,
    usage: noUsage,
  });
});

test('fitInTurn() without changes returns the same array of messages', async () => {
  expect((await fitInTurn([], request)).messages).toBe(request.messages);
  const fitted = await fitInTurn([lastTurns(9), fitContext({ window: 9_000 })], request);
  expect(fitted.messages).toBe(request.messages);
  expect(fitted).toMatchObject({ removed: 0, before: 90, after: 90 });
});

test('a policy may add a message to the head of the request, and later policies keep that message', async () => {
  const note = userMessage('note', { id: 'note' });
  const put: ContextPolicy = {
    fit: ({ messages: given, fixedCount = 0 }) => ({
      messages: [note, ...given],
      removed: 0,
      before: 0,
      after: 0,
      fixedCount: fixedCount + 1,
    }),
  };
  const fitting = fitContext({ window: 41, reserveOutput: 0, roundTo: 0 });
  expect(idsOf((await fitInTurn([put, lastTurns(1), fitting], request)).messages)).toBe(
    'note u3 a3 p',
  );
  const small = fitContext({ window: 12, reserveOutput: 0 });
  expect(
    idsOf(
      (
        await fitInTurn([put, small], {
          ...request,
          messages: [systemMessage('s', { id: 's' }), ...request.messages],
          fixedCount: 1,
        })
      ).messages,
    ),
  ).toBe('note s p');
});

test('fitInTurn() adds up the usage of the policies', async () => {
  const spends: ContextPolicy = {
    fit: (given) => ({
      ...(without('').fit(given) as FittedContext),
      usage: { inputTokens: 2, outputTokens: 1 },
    }),
  };
  expect((await fitInTurn([spends, lastTurns(9), spends], request)).usage).toEqual({
    inputTokens: 4,
    outputTokens: 2,
  });
});

test.each<unknown>([undefined, 'rubbish', {}, { messages: [], removed: NaN, before: 0, after: 0 }])(
  'fitInTurn() rejects a policy that returns %j',
  async (given) => {
    const rubbish: ContextPolicy = { fit: () => given as FittedContext };
    await expect(fitInTurn([rubbish], request)).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining('The result of a context policy') as string,
    });
  },
);
