import { expect, test } from 'vitest';
import { assistantMessage } from '../message/msg.ts';
import {
  finishError,
  finishMeaning,
  incompleteReason,
  type FinishMeaning,
} from './finish-reason.ts';

/** Finish reasons that providers document, by their meaning. */
const reasons: Readonly<Record<Exclude<FinishMeaning, 'failed'>, string>> = {
  complete:
    ', stop, STOP, end_turn, stop_sequence, STOP_SEQUENCE, eos, eos_token, COMPLETE, completed',
  calls: 'tool_calls, tool-calls, tool_use, TOOL_CALL, function_call',
  length:
    'length, max_tokens, MAX_TOKENS, max_output_tokens, model_length, model_context_window_exceeded',
  filtered:
    'content_filter, content-filter, content_filtered, content_filter: PROHIBITED_CONTENT, ' +
    'content_filter: A_NEW_FILTER, refusal, sensitive, SAFETY, RECITATION, BLOCKLIST, ' +
    'PROHIBITED_CONTENT, SPII, IMAGE_SAFETY, IMAGE_PROHIBITED_CONTENT, IMAGE_RECITATION',
  other:
    'other, unknown, OTHER, LANGUAGE, pause_turn, repetition, incomplete, max_messages, steered, ' +
    'time_limit, rate_limit, errors, unstoppable, stopped by a new reason',
};

test.each(
  Object.entries(reasons).flatMap(([meaning, words]) =>
    words.split(', ').map((word) => [word, meaning] as const),
  ),
)('%j means %s', (word, meaning) => {
  expect(finishMeaning(word)).toBe(meaning);
  expect(finishError(word, true)).toBeUndefined();
});

test.each([
  'error',
  'ERROR',
  'network_error',
  'failed',
  'engine_overloaded',
  'insufficient_system_resource',
  'abort',
  'cancelled',
  'MALFORMED_FUNCTION_CALL',
  'function_call_filter: MALFORMED_FUNCTION_CALL',
  'function_call_filter: UNEXPECTED_TOOL_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'malformed_tool_use',
])('%j is an error', (finishReason) => {
  expect(finishMeaning(finishReason)).toBe('failed');
  expect(finishError(finishReason, true)).toMatchObject({
    code: 'MODEL_SERVER',
    retryable: true,
    message: `The reply ended with the finish reason "${finishReason}"`,
  });
});

test.each(reasons.calls.split(', '))('%j without a tool call is an error', (finishReason) => {
  expect(finishError(finishReason, false)).toMatchObject({
    code: 'MODEL_SERVER',
    retryable: true,
    message: `The reply ended without a tool call with the finish reason "${finishReason}"`,
  });
});

test('the error about a very long finish reason has only its beginning', () => {
  const { message } = finishError(`malformed_${'x'.repeat(10_000)}`, true)!;
  expect(message.length).toBeLessThan(200);
});

test.each([
  [undefined, undefined],
  ['', undefined],
  ['stop', undefined],
  ['tool_calls', undefined],
  ['length', 'length'],
  ['sensitive', 'filtered'],
  ['error', 'other'],
  ['new', 'other'],
])('a reply with the finish reason %j is incomplete: %j', (finishReason, incomplete) => {
  const metadata = finishReason === undefined ? {} : { finishReason };
  expect(incompleteReason(assistantMessage('', { metadata }))).toBe(incomplete);
});

test('an imported message may have any value as its finish reason', () => {
  for (const finishReason of [5, {}, ['stop!'], true])
    expect(incompleteReason(assistantMessage('', { metadata: { finishReason } }))).toBe('other');
});
