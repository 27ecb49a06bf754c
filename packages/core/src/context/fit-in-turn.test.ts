import { expect, test } from 'vitest';
import { assistantMessage, systemMessage, userMessage, type Msg } from '../message/msg.ts';
import type { ContextPolicy, ContextRequest, FittedContext } from './context-policy.ts';
import { noUsage } from '../model/chat-model.ts';
import { fitInTurn } from '../../../../test/support/in-turn.ts';
import { fitContext } from './fit-context.ts';
import { lastTurns } from './history-views.ts';

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
  const look: ContextPolicy = {
    fit(given) {
      seen.push(idsOf(given.messages));
      return without('a0').fit(given);
    },
  };
  const fitted = await fitInTurn([without('u0'), look, lastTurns(2)], request);
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
