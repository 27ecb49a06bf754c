import { expect, test } from 'vitest';
import {
  assistantMessage,
  systemMessage,
  toolMessage,
  userMessage,
  toolResultsOf,
  toolUsesOf,
  type Msg,
} from '../message/msg.ts';
import { requestFaults } from '@test/support/history-faults.ts';
import { operatorMessage } from '../several/operator.ts';
import { clearToolResults, type ClearToolResultsOptions } from './clear-tool-results.ts';
import type { FittedContext } from './context-policy.ts';

/** A text of exactly 100 tokens. */
const long = 'r'.repeat(400);
const call = (ids: readonly string[], name = 'look'): Msg =>
  assistantMessage(
    ids.map((id) => ({ type: 'tool_use', id, name, input: { path: 'p'.repeat(30) } })),
    { id: `a-${ids.join('-')}` },
  );
const result = (id: string, name = 'look', output: string = long): Msg =>
  toolMessage(
    { type: 'tool_result', toolUseId: id, name, output, state: 'success' },
    { id: `t-${id}` },
  );
const steps = (count: number, name?: string): readonly Msg[] =>
  Array.from({ length: count }, (_, n) => [call([`c${n}`], name), result(`c${n}`, name)]).flat();
const log = (count: number): readonly Msg[] => [
  systemMessage('s', { id: 's' }),
  userMessage('u', { id: 'u' }),
  ...steps(count),
];
const edit = (messages: readonly Msg[], options: ClearToolResultsOptions): FittedContext =>
  clearToolResults(options).fit({ messages, tools: [], questionId: 'u' }) as FittedContext;
const pair = (n: number, name = 'look', output: string = long): readonly Msg[] => [
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
const outputs = ({ messages }: FittedContext): string =>
  messages
    .flatMap(toolResultsOf)
    .map(({ output }) => (output === long ? 'x' : output === '[cleared]' ? '-' : String(output)))
    .join('');

test('a result that the model has not seen stays, also if a person has written after it', () => {
  const written = operatorMessage('I check this.', { name: 'Ann' });
  expect(outputs(edit([...log(2), written], { maxTokens: 0, keep: 0 }))).toBe('-x');
});

test('by default clearToolResults() clears all but the newest three results above 100,000 tokens', () => {
  const short = log(20);
  expect(edit(short, {}).messages).toBe(short);
  const text = 'r'.repeat(160_000);
  const messages = [
    userMessage('u', { id: 'u' }),
    ...Array.from({ length: 5 }, (_, n) => [call([`c${n}`]), result(`c${n}`, 'look', text)]).flat(),
  ];
  const fitted = edit(messages, {});
  expect(fitted.messages.flatMap(toolResultsOf).map(({ output }) => output.length)).toEqual([
    9, 9, 160_000, 160_000, 160_000,
  ]);
  expect(fitted.before).toBeGreaterThan(200_000);
  expect(fitted.before - fitted.after).toBe(2 * (40_000 - 2));
  expect(requestFaults(fitted.messages)).toEqual([]);
});

test('clearToolResults() clears results only if the request is longer than `above`', () => {
  const messages = log(6);
  const { before } = edit(messages, { maxTokens: 0 });
  expect(outputs(edit(messages, { maxTokens: before }))).toBe('xxxxxx');
  expect(outputs(edit(messages, { maxTokens: before - 1 }))).toBe('---xxx');
  expect(outputs(edit(messages, { maxTokens: 0, keep: 0 }))).toBe('-----x');
  expect(outputs(edit(messages, { maxTokens: 0, keep: 9 }))).toBe('xxxxxx');
});

test('results of excluded tools are kept and do not count; a custom placeholder is accepted', () => {
  const messages = [
    userMessage('u', { id: 'u' }),
    ...steps(3, 'plan').map((one) => ({ ...one })),
    call(['d1']),
    result('d1'),
    call(['d2']),
    result('d2'),
  ];
  expect(outputs(edit(messages, { maxTokens: 0, keep: 1, exclude: ['plan'] }))).toBe('xxx-x');
  expect(outputs(edit(messages, { maxTokens: 0, keep: 4, placeholder: '?' }))).toBe('?xxxx');
});

test('`clearAtLeast` clears the oldest results in batches until the request is short enough', () => {
  const messages = log(10);
  const { before } = edit(messages, { maxTokens: 0 });
  const at = (maxTokens: number, clearAtLeast: number): string =>
    outputs(edit(messages, { maxTokens, clearAtLeast }));
  // Clearing one result saves 98 tokens.
  expect(at(before - 1, 98)).toBe('-xxxxxxxxx');
  expect(at(before - 1, 99)).toBe('--xxxxxxxx');
  expect(at(before - 1, 250)).toBe('---xxxxxxx');
  expect(at(before - 300, 250)).toBe('------xxxx');
  expect(at(0, 250)).toBe('------xxxx');
  // Clearing all results would save less than `clearAtLeast`, so no result is cleared.
  expect(at(0, 1_000)).toBe('xxxxxxxxxx');
});

test('between two batches, a request begins with the same messages as the previous request', () => {
  const policy = clearToolResults({ maxTokens: 1_000, clearAtLeast: 400 });
  const all = log(40);
  let [changes, longest] = [0, 0];
  let last: readonly Msg[] = [];
  for (let length = 2; length <= all.length; length += 2) {
    const { messages, after } = policy.fit({
      messages: all.slice(0, length),
      tools: [],
      questionId: 'u',
    }) as FittedContext;
    if (last.some((message, index) => messages[index] !== message)) changes += 1;
    longest = Math.max(longest, after);
    last = messages;
  }
  expect(changes).toBeLessThan(12);
  expect(longest).toBeLessThan(1_700);
});

test('`clearToolInputs` clears only the arguments of tool calls whose results are cleared', () => {
  const messages = [
    userMessage('u', { id: 'u' }),
    call(['a', 'b', 'c']),
    result('a'),
    result('b'),
    result('c'),
    call(['d']),
    result('d'),
  ];
  const inputs = (fitted: FittedContext): string =>
    fitted.messages
      .flatMap(toolUsesOf)
      .map(({ input }) => (JSON.stringify(input) === '{}' ? '-' : 'x'))
      .join('');
  expect(inputs(edit(messages, { maxTokens: 0, keep: 2 }))).toBe('xxxx');
  const policy = clearToolResults({ maxTokens: 0, keep: 2, clearToolInputs: true });
  const fitted = policy.fit({ messages, tools: [] }) as FittedContext;
  expect([inputs(fitted), outputs(fitted)]).toEqual(['--xx', '--xx']);
  expect(fitted.messages.map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
  // The messages are the same objects, because token counts and wire forms are cached on the
  // objects.
  const again = policy.fit({ messages, tools: [] }) as FittedContext;
  expect(again.messages.every((message, index) => message === fitted.messages[index])).toBe(true);
  expect(
    inputs(edit(messages, { maxTokens: 0, keep: 2, clearToolInputs: true, exclude: ['look'] })),
  ).toBe('xxxx');
});

test('`clearToolInputs` clears raw arguments, and a result without a tool call is cleared too', () => {
  const raw: Msg = assistantMessage(
    [{ type: 'tool_use', id: 'a', name: 'look', input: null, raw: '{"broken' }],
    { id: 'a' },
  );
  const messages = [
    userMessage('u', { id: 'u' }),
    result('lost'),
    raw,
    result('a'),
    assistantMessage('Done.'),
  ];
  const fitted = edit(messages, { maxTokens: 0, keep: 0, clearToolInputs: true });
  expect(fitted.messages.flatMap(toolUsesOf)).toEqual([
    { type: 'tool_use', id: 'a', name: 'look', input: {} },
  ]);
  expect(outputs(fitted)).toBe('--');
});

test.each([
  { maxTokens: -1 },
  { keep: 'x' },
  { keep: 0.5 },
  { exclude: [1] },
  { clearAtLeast: null },
  { clearToolInputs: 1 },
  { exclude: 'plan' },
  { placeholder: 5 },
  null,
])('clearToolResults() rejects the options %o', (options) => {
  expect(() => clearToolResults(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('clearToolResults() changes the request only, and keeps tool calls and all other fields', () => {
  const given = [...steps(5), ...pair(9), assistantMessage('Done.')];
  const fitted = edit(given, { maxTokens: 0, keep: 2 });
  expect(outputs(fitted)).toBe('----xx');
  expect(fitted).toMatchObject({ removed: 0, after: fitted.before - 4 * 98 });
  const cleared = edit(given, { maxTokens: 0, keep: 0 });
  expect(toolResultsOf(cleared.messages[11]!)).toEqual([
    { ...toolResultsOf(given[11]!)[0], output: '[cleared]' },
  ]);
  expect(given.flatMap(toolResultsOf).every(({ output }) => output === long)).toBe(true);
});

test('a custom placeholder replaces results, except for shorter results', () => {
  const messages = [...pair(1, 'look', 'ok'), ...pair(2), assistantMessage('Done.')];
  const fitted = edit(messages, { maxTokens: 0, keep: 0, placeholder: '(gone)' });
  expect(outputs(fitted)).toBe('ok(gone)');
});

test('results that no model has answered yet are kept, even if there are more than `keep`', () => {
  const ids = Array.from({ length: 9 }, (_, n) => `p${n}`);
  const messages = [...log(1), call(ids), ...ids.map((id) => result(id))];
  expect(outputs(edit(messages, { maxTokens: 0 }))).toBe('-xxxxxxxxx');
  expect(outputs(edit(messages, { maxTokens: 0, keep: 0 }))).toBe('-xxxxxxxxx');
  expect(outputs(edit([...messages, assistantMessage('Done.')], { maxTokens: 0 }))).toBe(
    '-------xxx',
  );
});

test('a result in a user message is cleared, but the text beside the result is kept', () => {
  const [asking, { content }] = pair(1) as [Msg, Msg];
  const messages = [
    asking,
    userMessage([...content, { type: 'text', text: 'And now?' }]),
    assistantMessage('Done.'),
  ];
  expect(edit(messages, { maxTokens: 0, keep: 0 }).messages[1]!.content).toMatchObject([
    { output: '[cleared]' },
    { text: 'And now?' },
  ]);
});
