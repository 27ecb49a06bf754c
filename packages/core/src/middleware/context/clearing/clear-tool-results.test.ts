import { expect, test } from 'vitest';
import {
  assistantMessage,
  systemMessage,
  toolMessage,
  userMessage,
} from '../../../message/create-message.ts';
import { toolResultsOf, toolUsesOf } from '../../../message/message-text.ts';
import type { Msg } from '../../../message/msg.ts';
import { requestFaults } from '../../../testing/history-faults.ts';
import { clearToolResults, type ClearToolResultsOptions } from './clear-tool-results.ts';
import type { FittedContext } from '../context-policy.ts';

const long = 'r'.repeat(400);
const pair = (n: number, name = 'look', output: string | [] = long): readonly Msg[] => [
  assistantMessage([{ type: 'tool_use', id: `c${n}`, name, input: {} }], { id: `a${n}` }),
  toolMessage(
    {
      type: 'tool_result',
      toolUseId: `c${n}`,
      name,
      output,
      state: 'error',
      providerMetadata: { k: n },
    },
    { id: `t${n}` },
  ),
];
const log = (count: number): readonly Msg[] => [
  systemMessage('s', { id: 's' }),
  userMessage('u', { id: 'u' }),
  ...Array.from({ length: count }, (_, n) => pair(n)).flat(),
];
const clear = (messages: readonly Msg[], options?: ClearToolResultsOptions): FittedContext =>
  clearToolResults(options).fit({ messages, tools: [], promptId: 'u' }) as FittedContext;
const outputs = ({ messages }: FittedContext): readonly string[] =>
  messages.flatMap(toolResultsOf).map(({ output }) => (output === long ? 'whole' : String(output)));

test('clearToolResults() replaces old results in the request only, and keeps tool calls and all other fields', () => {
  const given = log(6);
  const fitted = clear(given, { keep: 2, every: 1 });
  expect(outputs(fitted)).toEqual([
    '[cleared]',
    '[cleared]',
    '[cleared]',
    '[cleared]',
    'whole',
    'whole',
  ]);
  expect(fitted).toMatchObject({ removed: 0, before: 608, after: 608 - 4 * 100 + 4 * 2 });
  expect(requestFaults(fitted.messages)).toEqual([]);
  expect(toolResultsOf(fitted.messages[3]!)).toEqual([
    { ...toolResultsOf(given[3]!)[0], output: '[cleared]' },
  ]);
  expect(given.flatMap(toolResultsOf).every(({ output }) => output === long)).toBe(true);
});

test('by default clearToolResults() keeps the newest three results and clears three at a time', () => {
  const cleared = (count: number): number =>
    outputs(clear(log(count))).filter((output) => output !== 'whole').length;
  expect([0, 3, 5, 6, 8, 9, 12].map(cleared)).toEqual([0, 0, 0, 3, 3, 6, 9]);
});

test('between two clearings, a request begins with the same messages as the previous request', () => {
  const policy = clearToolResults({ keep: 2, every: 4 });
  const all = log(20);
  let changes = 0;
  let last: readonly Msg[] = [];
  for (let length = 2; length <= all.length; length += 2) {
    const { messages } = policy.fit({
      messages: all.slice(0, length),
      tools: [],
      promptId: 'u',
    }) as FittedContext;
    if (last.some((message, index) => messages[index] !== message)) changes += 1;
    last = messages;
  }
  expect(changes).toBe(4);
});

test('results of excluded tools are kept and do not count toward `keep`', () => {
  const messages = [...pair(1, 'plan'), ...pair(2), ...pair(3, 'plan'), ...pair(4)];
  expect(outputs(clear(messages, { keep: 1, every: 1, exclude: ['plan'] }))).toEqual([
    'whole',
    '[cleared]',
    'whole',
    'whole',
  ]);
});

test('a custom placeholder replaces results, except for shorter results', () => {
  const messages = [
    ...pair(1, 'look', 'ok'),
    ...pair(2),
    ...pair(3, 'look', []),
    assistantMessage('Done.'),
  ];
  expect(outputs(clear(messages, { keep: 0, placeholder: '(gone)' }))).toEqual([
    'ok',
    '(gone)',
    '(gone)',
  ]);
});

test('results that no model has answered yet are kept, even if there are more than `keep`', () => {
  const calls = Array.from(
    { length: 9 },
    (_, n) => ({ type: 'tool_use', id: `p${n}`, name: 'look', input: {} }) as const,
  );
  const results = calls.map(({ id, name }) =>
    toolMessage({ type: 'tool_result', toolUseId: id, name, output: long, state: 'success' }),
  );
  const messages = [...log(1), assistantMessage(calls), ...results];
  expect(outputs(clear(messages))).toEqual(
    Array.from({ length: 10 }, (_, n) => (n ? 'whole' : '[cleared]')),
  );
  expect(outputs(clear(messages, { keep: 0 })).slice(1)).toEqual(
    Array.from({ length: 9 }, () => 'whole'),
  );
  expect(
    outputs(clear([...messages, assistantMessage('Done.')])).filter((output) => output === 'whole'),
  ).toHaveLength(4);
});

test('a result in a user message is cleared, but the text beside the result is kept', () => {
  const [call, { content }] = pair(1) as [Msg, Msg];
  const messages = [
    call,
    userMessage([...content, { type: 'text', text: 'And now?' }]),
    assistantMessage('Done.'),
  ];
  expect(clear(messages, { keep: 0 }).messages[1]!.content).toMatchObject([
    { output: '[cleared]' },
    { text: 'And now?' },
  ]);
});

test('a request that is not longer than `above` is not changed', () => {
  const messages = log(6);
  const fitted = clear(messages, { above: 608 });
  expect(fitted).toEqual({ messages, removed: 0, before: 608, after: 608 });
  expect(fitted.messages).toBe(messages);
  expect(clear(messages, { above: 607 }).after).toBeLessThan(400);
  expect(clear(pair(1), { keep: 1 }).messages).toHaveLength(2);
});

test.each<[string, object]>([
  ['keep', { keep: -1 }],
  ['every', { every: 0 }],
  ['every', { every: 1.5 }],
  ['placeholder', { placeholder: 5 }],
  ['exclude', { exclude: 'plan' }],
  ['above', { above: NaN }],
  ['profile', { profile: {} }],
])('clearToolResults() rejects an invalid %s: %j', (field, options) => {
  const message = expect.stringContaining(`clearToolResults(): ${field}`) as string;
  expect(() => clearToolResults(options)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message }),
  );
});

test('`clearToolInputs` clears only long requests, including the arguments of the tool calls', () => {
  const messages = log(5).map((message) => ({
    ...message,
    content: message.content.map((block) =>
      block.type === 'tool_use' ? { ...block, input: { query: 'tea' } } : block,
    ),
  }));
  const inputs = (fitted: FittedContext): readonly string[] =>
    fitted.messages.flatMap(toolUsesOf).map(({ input }) => JSON.stringify(input));
  expect(clear(messages, { clearToolInputs: true }).messages).toBe(messages);
  const fitted = clear(messages, { clearToolInputs: true, above: 100, keep: 2 });
  expect(outputs(fitted)).toEqual(['[cleared]', '[cleared]', '[cleared]', 'whole', 'whole']);
  expect(inputs(fitted).filter((input) => input === '{}')).toHaveLength(3);
  const kept = clear(messages, { clearAtLeast: 0, above: 100, exclude: ['look'] });
  expect(outputs(kept)).toEqual(Array.from({ length: 5 }, () => 'whole'));
});
