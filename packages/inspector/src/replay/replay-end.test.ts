import { assistantMessage, createMessage, userMessage, type Msg } from '@isoloop/core';
import type { LogRecord } from '@isoloop/core/log';
import { expect, test } from 'vitest';
import type { InspectedEvent } from '../steps/event-runs.ts';
import { turnsInLog } from '../steps/log-turns.ts';
import { endAfter, endSentence } from './replay-end.ts';

const question = userMessage('Q?');
const answer = assistantMessage('A.');
const reply = callOf('look');

function callOf(name: string): Msg {
  return createMessage('assistant', [{ type: 'tool_use', id: 'x', name, input: {} }]);
}

/** Returns the turn of a log with these messages. Without `reason`, the log has no end of it. */
function turnOf(messages: readonly Msg[], reason?: string) {
  const records: LogRecord[] = [{ kind: 'run-begin', runId: 'r' }];
  for (const message of [question, ...messages]) records.push({ kind: 'message', message });
  if (reason !== undefined) records.push({ kind: 'run-end', runId: 'r', reason });
  return turnsInLog(records)[0]!;
}

const same = 'The replay ended like the log.';

test.for([
  { name: 'the same answer', end: { reason: 'stop', lastMessage: answer }, words: same },
  {
    name: 'another answer',
    end: { reason: 'stop', lastMessage: assistantMessage('B.') },
    words: 'The replay ended differently from the log.',
  },
  {
    name: 'another reason',
    end: { reason: 'max-iterations', lastMessage: answer },
    words: 'The replay ended differently from the log (max-iterations, not stop).',
  },
  {
    name: 'a tool call',
    end: { reason: 'stop', lastMessage: reply },
    words: 'The replay ended differently from the log.',
  },
])('a replay with $name is compared by reason and content', ({ end, words }) => {
  expect(endSentence(turnOf([answer], 'stop'), end, true)).toBe(words);
});

test('a replay that ends with another tool call ends differently, although neither has a text', () => {
  const turn = turnOf([reply], 'suspended');
  expect(endSentence(turn, { reason: 'suspended', lastMessage: reply }, true)).toBe(same);
  expect(endSentence(turn, { reason: 'suspended', lastMessage: callOf('go') }, true)).toMatch(
    'differently',
  );
});

test.for(['aborted', 'error', 'interrupted', 'suspended'])(
  'a replay cannot repeat the end "%s", and ends where the log ends',
  (reason) => {
    const end = { reason: 'aborted', lastMessage: reply };
    expect(endSentence(turnOf([reply], reason), end, true)).toBe(same);
    const hookEnd = { reason: 'stopped-by-hook', lastMessage: reply };
    expect(endSentence(turnOf([reply], reason), hookEnd, true)).toMatch('differently');
  },
);

test('a replay without an agent has none of its middleware, so only the content tells', () => {
  const end = { reason: 'aborted', lastMessage: reply };
  expect(endSentence(turnOf([reply], 'stopped-by-hook'), end, false)).toBe(same);
  expect(endSentence(turnOf([answer], 'stop'), end, false)).toMatch('differently');
});

test('a nested agent does not tell how a replay ended', () => {
  const eventOf = (
    type: InspectedEvent['type'],
    agentPath: readonly string[],
    fields: object,
  ): InspectedEvent => ({
    runId: agentPath.join(),
    seq: 0,
    iteration: 0,
    agentPath,
    at: 0,
    type,
    ...fields,
  });
  const nested = ['a', 'b'];
  const nestedResult = { reason: 'max-iterations', message: assistantMessage('B.') };
  const end = endAfter({ reason: '', lastMessage: undefined }, [
    eventOf('post-reasoning', ['a'], { message: reply }),
    eventOf('post-reasoning', nested, { message: callOf('go') }),
    eventOf('run-end', nested, { result: nestedResult }),
  ]);
  expect(end).toEqual({ reason: '', lastMessage: reply });
  const result = { reason: 'stop', message: answer };
  const events = [
    eventOf('run-end', ['a'], { result }),
    eventOf('run-end', nested, { result: nestedResult }),
  ];
  expect(endAfter(end, events)).toEqual({ reason: 'stop', lastMessage: answer });
});

test('a replay of a log without an end says so', () => {
  const end = { reason: 'stop', lastMessage: answer };
  expect(endSentence(turnOf([reply]), end, true)).toMatch('does not contain the end of this run');
  // Only the last run may be at work. A log of messages alone tells the end of an answer.
  const messages = [reply, userMessage('And?'), answer];
  const records = [question, ...messages].map((message): LogRecord => ({
    kind: 'message',
    message,
  }));
  const turns = turnsInLog(records);
  expect(turns.map(({ isOpen, reason }) => [isOpen, reason])).toEqual([
    [false, undefined],
    [false, 'stop'],
  ]);
  expect(endSentence(turns[0]!, end, true)).toMatch('does not contain the end of this run');
});
