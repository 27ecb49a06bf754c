import { interruptedText, type UIMessage, type UIMessagePart } from '@isoloop/core/stream';
import { expect, test } from 'vitest';
import { endOpenCalls } from './end-open-calls.ts';

const question: UIMessage = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'pay' }] };

function answerWith(...parts: readonly UIMessagePart[]): UIMessage {
  return { id: 'a', role: 'assistant', parts: [...parts] };
}

const call = { type: 'dynamic-tool', toolName: 'pay', toolCallId: 'c1', input: {} } as const;

test('texts of a stopped answer no longer grow, and its calls are interrupted', () => {
  const answer = answerWith(
    { type: 'text', text: 'I', state: 'streaming' },
    { ...call, state: 'input-available' },
  );
  expect(endOpenCalls([question, answer])).toEqual([
    question,
    answerWith(
      { type: 'text', text: 'I', state: 'done' },
      { ...call, state: 'output-error', errorText: interruptedText },
    ),
  ]);
});

test('calls whose input is incomplete go, with a step that is then empty', () => {
  const text: UIMessagePart = { type: 'text', text: 'I', state: 'done' };
  const step: UIMessagePart = { type: 'step-start' };
  const incomplete: UIMessagePart = { ...call, state: 'input-streaming', input: undefined };
  expect(endOpenCalls([answerWith(step, text, step, incomplete)])).toEqual([
    answerWith(step, text),
  ]);
  expect(endOpenCalls([question, answerWith(step, incomplete)])).toEqual([question]);
});

test('a question has nothing to end', () => {
  const messages = [question];
  expect(endOpenCalls(messages)).toBe(messages);
});
