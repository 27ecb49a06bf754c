import { AgentError, userMessage } from '@isoloop/core';
import { expect, test } from 'vitest';
import {
  checkQueueSize,
  isRepeat,
  mustWait,
  nextTurn,
  storesInputOnly,
  type NewTurn,
  type QueuedTurn,
} from './turn-queue.ts';

const message = { kind: 'message', message: userMessage('Hello') } as const;
const results = { kind: 'decide', decisions: [] } as const;

/** Returns a queue with turns of these requests, whose numbers start at 1. */
function queueOf(requests: readonly NewTurn['request'][], blockedId?: number) {
  const turns = requests.map((request, index): QueuedTurn => ({
    ...newTurn(request),
    id: index + 1,
    hasBegun: false,
    attempts: 0,
  }));
  return {
    blockedId,
    size: turns.length,
    first: () => turns[0],
    find: (isSought: (turn: QueuedTurn) => boolean) => turns.find(isSought),
  };
}

function newTurn(request: NewTurn['request']): NewTurn {
  return { request, model: 'm', messageId: 'a', requestId: 'r' };
}

test.each([
  ['an empty queue', [], undefined, undefined],
  ['messages in their order', [message, message], undefined, 1],
  ['nothing before the results for which a message waits', [message, message], 1, undefined],
  ['results before the message that waits for them', [message, message, results], 1, 3],
  ['the message again after its results have come', [message, results], undefined, 1],
])('the next turn is right for %s', (_case, requests, blockedId, next) => {
  expect(nextTurn(queueOf(requests, blockedId))?.id).toBe(next);
});

test.each([
  ['a message', message, [], undefined, false],
  ['a message behind another turn', message, [message], undefined, true],
  ['a message behind one that waits for results', message, [message], 1, true],
  ['the results for which a message waits', results, [message], 1, false],
  ['results behind another turn', results, [message], undefined, true],
])('a queue says whether %s waits', (_case, request, requests, blockedId, waits) => {
  expect(mustWait(queueOf(requests, blockedId), newTurn(request))).toBe(waits);
});

test('a queue has room for the running turn and the waiting ones', () => {
  checkQueueSize(queueOf([message, message]), 2);
  expect(() => checkQueueSize(queueOf([message, message, message]), 2)).toThrow(
    expect.objectContaining({ code: 'OVERLOADED', retryable: true }),
  );
});

test.each([
  [{ hasBegun: false, resumeAttempts: 2 }, [false, false, false, 'INTERNAL', 'INTERNAL']],
  [{ hasBegun: true, resumeAttempts: 2 }, [false, false, false, true, 'INTERNAL']],
  // Without resumption, a dead isolate costs the answer and not the message.
  [{ hasBegun: true, resumeAttempts: 0 }, [false, true, true, 'INTERNAL', 'INTERNAL']],
])('only the additional attempt at a turn with %o stores just its input', (fields, outcomes) => {
  const { hasBegun, resumeAttempts } = fields;
  const outcomeOf = (attempts: number): unknown => {
    try {
      return storesInputOnly({ hasBegun, attempts }, resumeAttempts);
    } catch (error) {
      return AgentError.from(error).code;
    }
  };
  expect([0, 1, 2, 3, 4].map(outcomeOf)).toEqual(outcomes);
});

/** Returns a turn with a message, and with these fields instead of its own. */
function turn(fields: Partial<NewTurn> = {}): NewTurn {
  return { ...newTurn(message), ...fields };
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

function withMessage({ id = message.message.id, text = 'Hello' }): NewTurn['request'] {
  return { kind: 'message', message: { ...userMessage(text), id } };
}
