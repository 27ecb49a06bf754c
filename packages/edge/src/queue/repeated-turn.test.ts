import { userMessage } from '@isoloop/core';
import { isRepeat, type NewTurn } from './turn-queue.ts';
import { expect, test } from 'vitest';

const hello = userMessage('Hello');

function turn(fields: Partial<NewTurn> = {}): NewTurn {
  const request = { kind: 'message', message: hello } as const;
  return { request, model: 'm', messageId: 'a', requestId: 'r', ...fields };
}

test.each([
  ['the same message', turn({ messageId: 'b', requestId: 's' }), true],
  ['the message with another text', turn({ request: withMessage({ text: 'Bye' }) }), false],
  ['another message with the same text', turn({ request: withMessage({ id: 'other' }) }), false],
  ['the same message for another model', turn({ model: 'n' }), false],
  ['a request without a message', turn({ request: { kind: 'continue' } }), false],
  ['the same message with a key', turn({ idempotencyKey: 'k' }), false],
])('a turn without an idempotency key is repeated or not by %s', (_case, second, repeats) => {
  expect(isRepeat(turn(), second)).toBe(repeats);
});

test('the idempotency key alone says whether a turn is repeated', () => {
  const first = turn({ idempotencyKey: 'k' });
  expect(isRepeat(first, turn({ idempotencyKey: 'k', model: 'n' }))).toBe(true);
  expect(isRepeat(first, turn({ idempotencyKey: 'l' }))).toBe(false);
  expect(isRepeat(first, turn())).toBe(false);
});

function withMessage({ id = hello.id, text = 'Hello' }): NewTurn['request'] {
  return { kind: 'message', message: { ...userMessage(text), id } };
}
