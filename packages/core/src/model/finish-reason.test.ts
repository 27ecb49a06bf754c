import { expect, test } from 'vitest';
import { assistantMessage } from '../message/msg.ts';
import {
  finishError,
  finishMeaning,
  incompleteReason,
  type FinishMeaning,
} from './finish-reason.ts';

/** Finish reasons that providers document, by their meaning. */
const reasons: Readonly<Record<Exclude<FinishMeaning, 'failed'>, readonly string[]>> = {
  complete: [
    'stop',
    'STOP',
    'end_turn',
    'stop_sequence',
    'STOP_SEQUENCE',
    'eos',
    'eos_token',
  ].concat('COMPLETE', 'completed'),
  calls: ['tool_calls', 'tool-calls', 'tool_use', 'TOOL_CALL', 'function_call'],
  length: ['length', 'max_tokens', 'MAX_TOKENS', 'max_output_tokens', 'model_length'].concat(
    'model_context_window_exceeded',
    'time_limit',
    'token_limit',
  ),
  filtered: ['content_filter', 'content-filter', 'content_filtered', 'refusal', 'sensitive'].concat(
    'content_filter: PROHIBITED_CONTENT',
    'content_filter: A_NEW_FILTER',
    'SAFETY',
    'RECITATION',
    'BLOCKLIST',
    'PROHIBITED_CONTENT',
    'SPII',
    'IMAGE_SAFETY',
    'IMAGE_PROHIBITED_CONTENT',
    'IMAGE_RECITATION',
    'ERROR_TOXIC',
    'guardrail_intervened',
  ),
  other: ['other', 'unknown', 'OTHER', 'LANGUAGE', 'pause_turn', 'repetition', 'incomplete'].concat(
    'max_messages',
    'steered',
    'stopped by a reason of tomorrow',
    'no_error_at_all_here: stop',
    '',
  ),
};

test.each(
  Object.entries(reasons).flatMap(([meaning, words]) => words.map((word) => [word, meaning])),
)('%j means %s', (word, meaning) => {
  expect(finishMeaning(word)).toBe(meaning);
  expect(finishError(word, true)).toBeUndefined();
});

test.each([
  ['error', 'MODEL_SERVER'],
  ['ERROR', 'MODEL_SERVER'],
  ['network_error', 'MODEL_SERVER'],
  ['failed', 'MODEL_SERVER'],
  ['engine_overloaded', 'MODEL_SERVER'],
  ['insufficient_system_resource', 'MODEL_SERVER'],
  ['abort', 'MODEL_SERVER'],
  ['cancelled', 'MODEL_SERVER'],
  ['TIMEOUT', 'MODEL_SERVER'],
  ['MALFORMED_FUNCTION_CALL', 'MODEL_BAD_RESPONSE'],
  ['function_call_filter: MALFORMED_FUNCTION_CALL', 'MODEL_BAD_RESPONSE'],
  ['function_call_filter: UNEXPECTED_TOOL_CALL', 'MODEL_BAD_RESPONSE'],
  ['UNEXPECTED_TOOL_CALL', 'MODEL_BAD_RESPONSE'],
  ['TOO_MANY_TOOL_CALLS', 'MODEL_BAD_RESPONSE'],
  ['malformed_tool_use', 'MODEL_BAD_RESPONSE'],
])('%j is the error %s', (finishReason, code) => {
  expect(finishMeaning(finishReason)).toBe('failed');
  const error = finishError(finishReason, true);
  expect(error).toMatchObject({ code, retryable: true, details: { finishReason } });
});

test.each(reasons.calls)('%j without a tool call is an error', (finishReason) => {
  expect(finishError(finishReason, false)).toMatchObject({
    code: 'MODEL_BAD_RESPONSE',
    retryable: true,
    message: `The finish reason is "${finishReason}", but the reply has no tool call`,
  });
});

test('the error about a very long finish reason has only its beginning', () => {
  const { message, details } = finishError(`malformed_${'x'.repeat(10_000)}`, true)!;
  expect(message.length).toBeLessThan(200);
  expect(JSON.stringify(details).length).toBeLessThan(200);
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
  expect(incompleteReason(assistantMessage('', { metadata: { finishReason: 5 } }))).toBeUndefined();
});
