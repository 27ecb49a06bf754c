import type { UIMessage } from '@isoloop/core/stream';
import { AgentError } from '@isoloop/core';
import { expect, test } from 'vitest';
import type { CallPart } from './call-parts.ts';
import {
  keepEqual,
  upToQuestion,
  withCalls,
  withEarlierCall,
  withMessage,
  withRefusal,
} from './shown-messages.ts';

const question: UIMessage = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'pay' }] };
const answer: UIMessage = {
  id: 'a',
  role: 'assistant',
  parts: [
    { type: 'text', text: 'I pay.' },
    {
      type: 'dynamic-tool',
      toolName: 'pay',
      toolCallId: 'c1',
      state: 'approval-requested',
      input: { coins: 1 },
      approval: { id: 'approval-c1' },
    },
  ],
};
const shown: readonly UIMessage[] = [question, answer];

test('messages and parts that are equal stay the same objects', () => {
  const next = structuredClone([question, answer]);
  expect(keepEqual(next, shown)).toBe(shown);
  const changed = {
    ...next[1]!,
    parts: [next[1]!.parts[0]!, { type: 'text' as const, text: '!' }],
  };
  const kept = keepEqual([next[0]!, changed], shown);
  expect(kept[0]).toBe(question);
  expect(kept[1]!.parts[0]).toBe(answer.parts[0]);
  expect(kept[1]!.parts[1]).toEqual({ type: 'text', text: '!' });
});

test('a message replaces that with its id, and another one is added', () => {
  const changed = { ...answer, parts: [] };
  expect(withMessage(shown, changed)).toEqual([question, changed]);
  expect(withMessage([question], answer)).toEqual(shown);
  expect(shown[1]).toBe(answer);
});

test('a chunk ends an open call of an earlier answer', () => {
  const denied = { type: 'tool-output-denied', toolCallId: 'c1' } as const;
  const messages = withEarlierCall(shown, denied, 'b')!;
  expect(messages[1]!.parts[1]).toMatchObject({ toolCallId: 'c1', state: 'output-denied' });
  expect(answer.parts[1]).toMatchObject({ state: 'approval-requested' });
  // The call is closed by now, so the chunk is about another one.
  expect(withEarlierCall(messages, denied, 'b')).toBeUndefined();
});

test.for([
  {
    what: 'of the answer itself',
    chunk: { type: 'tool-output-denied', toolCallId: 'c1' },
    id: 'a',
  },
  { what: 'of an unknown call', chunk: { type: 'tool-output-denied', toolCallId: 'c2' }, id: 'b' },
  { what: 'of a text', chunk: { type: 'text-delta', id: '0', delta: 'c1' }, id: 'b' },
] as const)('a chunk $what changes no earlier answer', ({ chunk, id }) => {
  expect(withEarlierCall(shown, chunk, id)).toBeUndefined();
});

test('a call that is repeated stays as it is shown', () => {
  const repeated = {
    type: 'tool-input-available',
    toolCallId: 'c1',
    toolName: 'pay',
    input: { coins: 1 },
  } as const;
  expect(withEarlierCall(shown, repeated, 'b')).toBe(shown);
});

test('a question keeps the error that it got in place of an answer', () => {
  const error = new AgentError('OVERLOADED', 'Try later.');
  const [refused] = withRefusal([{ ...question, metadata: { at: 1 } }], error);
  expect(refused!.metadata).toEqual({
    at: 1,
    error: { code: 'OVERLOADED', message: error.message },
  });
  expect(withRefusal(shown, error)).toBe(shown);
  const lost = [question];
  expect(withRefusal(lost, new TypeError('The connection was lost.'))).toBe(lost);
});

test('a stream that repeats an answer begins after the last question', () => {
  expect(upToQuestion([...shown, { ...question, id: 'q2' }, answer])).toHaveLength(3);
  expect(upToQuestion([answer])).toEqual([]);
});

test('a decision is shown again only for the approval request that it answers', () => {
  const [, request] = answer.parts;
  const decided = (id: string): CallPart =>
    ({ ...request, state: 'approval-responded', approval: { id, approved: true } }) as CallPart;
  const [, { parts }] = withCalls(shown, [decided('approval-c1')]) as [UIMessage, UIMessage];
  expect(parts).toEqual([answer.parts[0], decided('approval-c1')]);
  expect(withCalls(shown, [decided('earlier')])).toEqual(shown);
});
