import { expect, test } from 'vitest';
import { assistantMessage, toolMessage, userMessage, type Msg } from './msg.ts';
import { parseHistory } from './validate-message.ts';

const asks = (id: string, ...toolUseIds: readonly string[]): Msg =>
  assistantMessage(
    [
      { type: 'text', text: '' },
      ...toolUseIds.map((use) => ({ type: 'tool_use', id: use, name: 't', input: {} }) as const),
    ],
    { id },
  );
const gives = (id: string, toolUseId: string): Msg =>
  toolMessage({ type: 'tool_result', toolUseId, name: 't', output: '', state: 'success' }, { id });

test('parseHistory() accepts open tool calls, results without a tool call and several replies in a row', () => {
  const history = [
    gives('r0', 'gone'),
    userMessage('hi', { id: 'u' }),
    asks('a', '1', '2'),
    gives('r2', '2'),
    asks('b', '3'),
  ];
  expect(parseHistory(history)).toBe(history);
  expect(parseHistory([])).toEqual([]);
});

test.for([
  [
    [userMessage('hi', { id: 'm' }), asks('a'), userMessage('you', { id: 'm' })],
    2,
    'm',
    'id',
    'different from the id of message 0',
  ],
  [
    [asks('a', '1'), gives('r', '1'), asks('b', '2', '1')],
    2,
    'b',
    'content[2].id',
    'different from the id of a tool call in message 0',
  ],
  [
    [asks('a', '1', '1')],
    0,
    'a',
    'content[2].id',
    'different from the id of a tool call in message 0',
  ],
] as const)('parseHistory() rejects a repeated id %#', ([history, index, id, field, expected]) => {
  expect(() => parseHistory(history)).toThrow(
    expect.objectContaining({
      code: 'INVALID_MESSAGE',
      message: `Message ${index} (id "${id}"): ${field} must be ${expected}`,
      details: { index, id, field },
    }),
  );
});

test('parseHistory() also validates each message', () => {
  expect(() => parseHistory([userMessage('hi', { id: '' })])).toThrow(
    'id must be a string that is not empty',
  );
});
