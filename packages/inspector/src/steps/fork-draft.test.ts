import { assistantMessage, toolMessage, userMessage, type Msg } from '@isoloop/core';
import { expect, test } from 'vitest';
import { forkBefore, forkWithArguments, forkWithInput } from './fork-draft.ts';
import { loggedTurns } from './log-turns.ts';

const result = (toolUseId: string): Msg =>
  toolMessage(
    { type: 'tool_result', toolUseId, name: 'pay', output: 'paid', state: 'success' },
    { id: `result-${toolUseId}` },
  );

const messages = [
  userMessage('One?', { id: 'q1' }),
  assistantMessage('One.', { id: 'a1' }),
  userMessage('Pay Ann and Bob.', { id: 'q2' }),
  assistantMessage(
    [
      { type: 'tool_use', id: 'x', name: 'pay', input: { to: 'Ann' }, raw: '{"to":"Ann"}' },
      { type: 'tool_use', id: 'y', name: 'pay', input: { to: 'Bob' } },
    ],
    { id: 'calls' },
  ),
  result('x'),
  result('y'),
  assistantMessage('Paid.', { id: 'a2' }),
];

const turn = loggedTurns(messages)[1]!;
const ids = (list: readonly Msg[] | undefined): readonly string[] =>
  (list ?? []).map(({ id }) => id);

test('a fork with another input begins after the earlier turns', () => {
  const { messages: kept, input } = forkWithInput(turn, 'Pay nobody.');
  expect([ids(kept), input]).toEqual([['q1', 'a1'], 'Pay nobody.']);
});

test('a fork before a reply keeps everything up to it', () => {
  expect(ids(forkBefore(turn, 'a2')?.messages)).toEqual(
    'q1 a1 q2 calls result-x result-y'.split(' '),
  );
  expect(forkBefore(turn, 'elsewhere')).toBeUndefined();
});

test('a fork with other arguments keeps the results of the other calls, and drops the old one', () => {
  const fork = forkWithArguments(turn, 'x', { to: 'Cy' });
  expect(ids(fork?.messages)).toEqual(['q1', 'a1', 'q2', 'calls', 'result-y']);
  expect(fork?.messages[3]?.content).toEqual([
    { type: 'tool_use', id: 'x', name: 'pay', input: { to: 'Cy' } },
    { type: 'tool_use', id: 'y', name: 'pay', input: { to: 'Bob' } },
  ]);
  expect(forkWithArguments(turn, 'elsewhere', {})).toBeUndefined();
});
