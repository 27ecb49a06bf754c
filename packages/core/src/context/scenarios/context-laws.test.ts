import { expect, test } from 'vitest';
import { seeds } from '@test/test-extent.ts';
import { hasToolResults, toolResultsOf, toolUsesOf, type Msg } from '../../message/msg.ts';
import { arc } from '../../tokens/arc-profile.ts';
import { countMessage, countTools } from '../../tokens/count-message.ts';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import { randomOf } from '@test/random-of.ts';
import { randomRequest, type RandomRequest } from '@test/support/random-request.ts';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import { inTurn } from '@test/support/in-turn.ts';
import { clearToolResults } from '../clear-tool-results.ts';
import type { ContextPolicy, FittedContext } from '../context-policy.ts';
import { fitContext } from '../fit-context.ts';
import { answersOnly, lastTurns, successfulTurns } from '../history-views.ts';
import { summarizeHistory } from '../summarize-history.ts';
import { turnsOf } from '../../message/conversation/turns.ts';
import { weightedHistory } from '@isoloop/presets';

const allSeeds = seeds({ quick: 80, full: 400 });
const ids = (messages: readonly Msg[]): readonly string[] => messages.map(({ id }) => id);
const tokensOf = ({ tools, addedLater = [] }: RandomRequest, messages: readonly Msg[]): number =>
  [...messages, ...addedLater].reduce(
    (sum, message) => sum + countMessage(message),
    countTools(tools),
  );

/** Returns the violations of the rules that every context policy must keep. */
function faults(
  request: RandomRequest,
  { messages, before, after }: FittedContext,
): readonly string[] {
  const { fixedCount, questionId, open } = request;
  const kept = new Set(ids(messages));
  const added = messages.filter(({ id }) => !ids(request.messages).includes(id));
  const given = ids(messages).filter((id) => ids(request.messages).includes(id));
  const inOrder = ids(request.messages).filter((id) => kept.has(id));
  // A policy keeps tool calls and their results together, so a valid request stays valid after
  // fitting.
  const openNow = messages.flatMap(toolUsesOf).filter(({ id }) => open.includes(id));
  return [
    ...historyFaults(
      messages,
      openNow.map(({ id }) => id),
    ),
    ...(openNow.length ? [] : requestFaults(messages)),
    ...ids(request.messages.slice(0, fixedCount))
      .filter((id, index) => messages[index]?.id !== id)
      .map((id) => `${id} is not at its place in the head`),
    ...(kept.has(questionId) ? [] : ['the question went']),
    ...(String(given) === String(inOrder) ? [] : ['the order is another']),
    ...(added.length > 1 ? ['more than a summary was added'] : []),
    ...(before === tokensOf(request, request.messages) ? [] : ['`before` is wrong']),
    ...(after === tokensOf(request, messages) ? [] : ['`after` is wrong']),
  ];
}

/**
 * Returns the number of messages in the smallest fitted request: the head, the question and the
 * newest group of the question’s turn.
 */
function smallest({ messages, fixedCount, questionId }: RandomRequest): number {
  const question = messages.findIndex(({ id }) => id === questionId);
  const last = messages.findLastIndex((message) => !hasToolResults(message));
  let start = fixedCount;
  while (messages[start]?.role === 'system') start++;
  return start + 1 + (last > question ? messages.length - last : 0);
}

/**
 * Returns the same violations. Also reports a request that is too long although more messages could
 * be removed.
 */
function faultsIn(
  request: RandomRequest,
  fitted: FittedContext,
  window: number,
): readonly string[] {
  const fits = fitted.after <= window || fitted.messages.length <= smallest(request) + 1;
  return [
    ...faults(request, fitted),
    ...(fits
      ? []
      : [`${fitted.after} tokens in a window of ${window}, ${fitted.messages.length} messages`]),
  ];
}

test.each([undefined, 0, 100])(
  'fitContext with `roundTo: %s` keeps the rules and fits the window, or returns the smallest request',
  (step) => {
    for (const seed of allSeeds) {
      const request = randomRequest(seed);
      const window = 10 + Math.floor(randomOf(seed)() * 3000);
      const fitted = fitContext({
        window,
        reserveOutput: 0,
        ...(step !== undefined && { roundTo: step }),
      }).fit(request) as FittedContext;
      expect(faultsIn(request, fitted, window), `seed ${seed}`).toEqual([]);
      if (fitted.before <= window) expect(fitted.messages, `seed ${seed}`).toBe(request.messages);
      else if (fitted.after > window)
        expect(fitted.messages, `seed ${seed}`).toHaveLength(smallest(request));
    }
  },
);

test('fitContext() with `roundTo: 0` removes no group of messages that would fit', () => {
  for (const seed of allSeeds) {
    const request = randomRequest(seed);
    const window = 10 + Math.floor(randomOf(seed)() * 3000);
    const { messages, removed, after } = fitContext({ window, reserveOutput: 0, roundTo: 0 }).fit(
      request,
    ) as FittedContext;
    if (!removed) continue;
    const kept = new Set(messages);
    const question = request.messages.findIndex(({ id }) => id === request.questionId);
    const gone = request.messages
      .map((message, index) => ({ message, index }))
      .filter(({ message }) => !kept.has(message));
    // Finds the messages that were removed last. After the question, that is one group. Before the
    // question, it is everything back to a user message.
    const last = gone.at(-1)!.index;
    const from =
      last > question
        ? request.messages.findLastIndex(
            (message, index) => index <= last && !hasToolResults(message),
          )
        : request.messages.findLastIndex(
            (message, index) =>
              index <= last && message.role === 'user' && !hasToolResults(message),
          );
    const back = request.messages
      .slice(Math.max(from, 0), last + 1)
      .filter((message) => !kept.has(message));
    const without = after + back.reduce((sum, message) => sum + countMessage(message), 0);
    expect(without, `seed ${seed}`).toBeGreaterThan(window);
  }
});

const views: readonly (readonly [string, () => ContextPolicy])[] = [
  ['successfulTurns', successfulTurns],
  ['lastTurns', () => lastTurns(2)],
  ['answersOnly', answersOnly],
  ['weightedHistory', () => weightedHistory({ max: 1000 })],
  [
    'weightedHistory by tokens',
    () => weightedHistory({ max: 300, unit: 'tokens', shortWeight: 1, reactWeight: 3 }),
  ],
  ['clearToolResults', () => clearToolResults({ maxTokens: 0, keep: 2, exclude: ['kept'] })],
  [
    'all of them',
    () =>
      inTurn(
        successfulTurns(),
        lastTurns(3),
        clearToolResults({ maxTokens: 0, keep: 0 }),
        weightedHistory(),
        answersOnly(),
      ),
  ],
];

test.each(views)('%s keeps the rules and the whole current turn', async (name, policy) => {
  for (const seed of allSeeds) {
    const request = randomRequest(seed);
    const fitted = await policy().fit(request);
    expect(faults(request, fitted), `seed ${seed}`).toEqual([]);
    const current = turnsOf(request.messages.slice(request.fixedCount)).findLast((turn) =>
      turn.some(({ id }) => id === request.questionId),
    )!;
    expect(ids(fitted.messages.slice(-current.length)), `seed ${seed}`).toEqual(ids(current));
    if (!/clear|all/.test(name))
      expect(fitted.messages.slice(-current.length), `seed ${seed}`).toEqual(current);
  }
});

test('a chain of clearing, views and a summary keeps the rules and fits the window, or returns the smallest request', async () => {
  let summaries = 0;
  for (const seed of allSeeds) {
    const request = randomRequest(seed);
    const window = 150 + Math.floor(randomOf(seed)() * 3000);
    const model = new ScriptedModel(Array.from({ length: 99 }, () => 'In short: nothing.'));
    const policy = inTurn(
      clearToolResults({ maxTokens: 0 }),
      successfulTurns(),
      summarizeHistory({ window, reserveOutput: 0, summaryTokens: 100, model }),
    );
    expect(faultsIn(request, await policy.fit(request), window), `seed ${seed}`).toEqual([]);
    summaries += model.requests.length;
  }
  expect(summaries).toBeGreaterThan(allSeeds.length / 4);
});

test('policies give a request that grows message by message the same views as each request alone', () => {
  for (const seed of allSeeds.slice(0, 50)) {
    const request = randomRequest(seed);
    const question = request.messages.findIndex(({ id }) => id === request.questionId);
    const once = (): readonly ContextPolicy[] => [
      fitContext({ window: 500, reserveOutput: 0 }),
      answersOnly(),
      weightedHistory({ max: 999 }),
      clearToolResults({ maxTokens: 0 }),
    ];
    const grown = once();
    for (let length = question + 1; length <= request.messages.length; length++) {
      const part = { ...request, messages: request.messages.slice(0, length) };
      expect(
        grown.map((policy) => policy.fit(part)),
        `seed ${seed}`,
      ).toEqual(once().map((policy) => policy.fit(part)));
    }
  }
});

test('one chain with failing summaries keeps the rules at each request of a growing conversation', async () => {
  let [summaries, failures] = [0, 0];
  const some = allSeeds.slice(0, 150);
  for (const seed of some) {
    const whole = randomRequest(seed);
    const random = randomOf(seed + 1000);
    const window = 200 + Math.floor(random() * 1500);
    const replies = Array.from({ length: 200 }, (): ScriptedReply =>
      random() < 0.3 ? { error: new Error('down') } : 'In short: nothing.',
    );
    const model = new ScriptedModel(replies);
    const onError = (): void => void failures++;
    const summarize = summarizeHistory({
      window,
      reserveOutput: 0,
      summaryTokens: 60,
      roundTo: 100,
      model,
      onError,
    });
    const policy = inTurn(clearToolResults({ maxTokens: 0, keep: 2 }), summarize);
    let questionId = '';
    for (let length = whole.fixedCount + 1; length <= whole.messages.length; length++) {
      const messages = whole.messages.slice(0, length);
      const { id, role } = messages.at(-1)!;
      if (role === 'user' && !hasToolResults(messages.at(-1)!)) questionId = id;
      const last = messages.findLastIndex((message) => !hasToolResults(message));
      const results = new Set(
        messages
          .slice(last)
          .flatMap(toolResultsOf)
          .map(({ toolUseId }) => toolUseId),
      );
      const open = toolUsesOf(messages[last]!).flatMap((call) =>
        results.has(call.id) ? [] : call.id,
      );
      if (!questionId) continue;
      const request = { ...whole, messages, questionId, open };
      const fitted = await policy.fit(request);
      expect(faults(request, fitted), `seed ${seed}`).toEqual([]);
      // A system message directly after a summary is kept, like a system message in the head.
      const history = fitted.messages.filter((message) => message.role !== 'system');
      if (fitted.after > window)
        expect(history.length, `seed ${seed}`).toBeLessThanOrEqual(smallest(request) + 1);
    }
    summaries += model.requests.length;
  }
  expect(failures).toBeGreaterThan(some.length / 3);
  expect(summaries).toBeGreaterThan((some.length * 4) / 3);
});

test('the random requests contain the cases that the rules cover', () => {
  // Without these cases, the tests above would pass without testing anything.
  const requests = allSeeds.map(randomRequest);
  const all = requests.flatMap(({ messages }) => messages);
  expect(requests.some(({ open }) => open.length > 1)).toBe(true);
  expect(all.some((message) => toolUsesOf(message).length > 2)).toBe(true);
  expect(
    all.some((message) => toolResultsOf(message).some(({ output }) => typeof output !== 'string')),
  ).toBe(true);
  expect(all.some((message) => message.role === 'user' && hasToolResults(message))).toBe(true);
  expect(arc.perMedia).toBeGreaterThan(0);
});
