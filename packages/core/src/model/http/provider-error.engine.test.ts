import { expect, test } from 'vitest';
import type { AgentErrorCode } from '../../error/agent-error.ts';
import { errorOfChunk, errorOfResponse } from './provider-error.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';

const respond = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  errorOfResponse(
    status,
    new Headers(headers),
    typeof body === 'string' ? body : JSON.stringify(body),
  );

test.each<[status: number, body: unknown, code: AgentErrorCode, retryable: boolean, words: string]>(
  [
    [
      401,
      { error: { message: 'Bad key.', code: 'invalid_api_key' } },
      'MODEL_AUTH',
      false,
      'Bad key.',
    ],
    [403, { message: 'Not here.' }, 'MODEL_AUTH', false, 'Not here.'],
    [404, { error: 'model not found' }, 'MODEL_REQUEST', false, 'model not found'],
    [404, '', 'MODEL_REQUEST', false, ''],
    [408, {}, 'MODEL_TIMEOUT', true, '{}'],
    [
      422,
      { detail: 'Extra inputs are not permitted' },
      'MODEL_REQUEST',
      false,
      'Extra inputs are not permitted',
    ],
    [
      400,
      [
        {
          error: {
            code: 400,
            message: 'The input token count (9) exceeds the maximum',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
      'MODEL_CONTEXT_LENGTH',
      false,
      'The input token',
    ],
    [
      400,
      { error: { message: 'prompt is too long: 210000 tokens > 200000 maximum' } },
      'MODEL_CONTEXT_LENGTH',
      false,
      'prompt is too long',
    ],
    [
      400,
      { error: { message: 'Range of input length should be [1, 30720]' } },
      'MODEL_CONTEXT_LENGTH',
      false,
      'Range',
    ],
    [
      400,
      { error: { message: 'the request exceeds the available context size' } },
      'MODEL_CONTEXT_LENGTH',
      false,
      'the request',
    ],
    [
      413,
      { error: { message: 'Please reduce the length of the messages.' } },
      'MODEL_CONTEXT_LENGTH',
      false,
      'Please',
    ],
    [
      400,
      { error: { message: 'Unsupported parameter: max_tokens' } },
      'MODEL_REQUEST',
      false,
      'Unsupported',
    ],
    [429, { error: { message: 'Slow down.' } }, 'MODEL_RATE_LIMITED', true, 'Slow down.'],
    [
      429,
      { error: { message: 'No credit.', code: 'insufficient_quota' } },
      'MODEL_RATE_LIMITED',
      false,
      'No credit.',
    ],
    [500, { error: { message: 'Oops.' } }, 'MODEL_SERVER', true, 'Oops.'],
    [502, '<html><h1>Bad gateway</h1></html>', 'MODEL_SERVER', true, 'Bad gateway'],
  ],
)(
  'HTTP %i with the body %j causes an error with code %s',
  (status, body, code, retryable, words) => {
    const error = respond(status, body);
    expect([error.code, error.retryable, error.details?.['status']]).toEqual([
      code,
      retryable,
      status,
    ]);
    expect(error.message).toContain(`HTTP ${status}`);
    expect(error.message).toContain(words);
  },
);

test('the time to wait is read in seconds, in milliseconds or as a date', () => {
  const wait = (header: string) =>
    respond(429, '', { 'retry-after': header }).details?.['retryAfterMs'];
  expect(wait('1.5')).toBe(1500);
  expect(wait('0')).toBe(0);
  fakeClock({ now: Date.UTC(2026, 0, 1) });
  expect(wait(new Date(Date.now() + 60_000).toUTCString())).toBe(60_000);
  expect(wait(new Date(0).toUTCString())).toBe(0);
  expect(wait('soon')).toBeUndefined();
  const both = (ms: string, seconds: string) =>
    respond(429, '', { 'retry-after-ms': ms, 'retry-after': seconds }).details?.['retryAfterMs'];
  expect(both('1250', '2')).toBe(1250);
  expect(both('0', '2')).toBe(0);
  expect(both('soon', '2')).toBe(2000);
  expect(both('-5', '2')).toBe(2000);
  expect(both('', '2')).toBe(2000);
});

test('an error that the server calls final cannot be retried', () => {
  const retryable = (value: string) => respond(429, '', { 'x-should-retry': value }).retryable;
  expect([retryable('false'), retryable('true')]).toEqual([false, true]);
});

test('an error within a reply has the wait that its words name', () => {
  const error = { message: 'Please try again in 6.5s.', code: 'rate_limit_exceeded' };
  expect(errorOfChunk({ error })?.details).toEqual({
    providerCode: 'rate_limit_exceeded',
    retryAfterMs: 6500,
  });
});

test('long explanations in error messages are shortened', () => {
  expect(respond(500, 'x'.repeat(10_000)).message.length).toBeLessThan(300);
  expect(respond(500, { error: { message: 'x'.repeat(10_000) } }).message.length).toBeLessThan(700);
});

test('the error of a gateway’s page has the page’s title, because the page begins with scripts', () => {
  const page = '<!DOCTYPE html>\n<html><head><style>a</style>\n<title>520: Unknown error</title>';
  expect(respond(520, `${page}</head></html>`).message).toBe(
    'HTTP 520 from the model server: 520: Unknown error',
  );
  const text = 'The field <title>a</title> is not known.';
  expect(respond(400, text).message).toContain(text);
});

test.each<[chunk: unknown, isErrorEvent: boolean, code: AgentErrorCode, retryable: boolean]>([
  // MiniMax answers with 200 (https://github.com/infiniflow/ragflow/pull/17292).
  [{ choices: null, base_resp: minimax(1002, 'rate limit') }, false, 'MODEL_RATE_LIMITED', true],
  [{ base_resp: minimax(1008, 'insufficient balance') }, false, 'MODEL_RATE_LIMITED', false],
  [{ base_resp: minimax(2049, 'invalid api key') }, false, 'MODEL_AUTH', false],
  [{ base_resp: minimax(1000, 'unknown error') }, false, 'MODEL_SERVER', true],
  [{ error: { message: 'Lost.', code: 502 } }, false, 'MODEL_SERVER', true],
  [{ error: 'Lost.' }, false, 'MODEL_SERVER', true],
  [{ object: 'error', message: 'Lost.', code: 40303 }, false, 'MODEL_SERVER', true],
  [{ message: 'Lost.' }, true, 'MODEL_SERVER', true],
  [
    { error: { message: 'Failed to call a function.', code: 'tool_use_failed', status_code: 400 } },
    true,
    'MODEL_REQUEST',
    false,
  ],
  // OpenRouter: https://github.com/dcdpr/jp/pull/978
  [{ error: { message: 'Refused.', code: 400 }, choices: [] }, false, 'MODEL_REQUEST', false],
  [{ error: { message: 'Slow down.', code: 429 } }, false, 'MODEL_RATE_LIMITED', true],
  [
    { error: { message: 'Slow down.', code: 'rate_limit_exceeded' } },
    false,
    'MODEL_RATE_LIMITED',
    true,
  ],
  [
    { error: { message: 'maximum context length is 10', code: 400 } },
    false,
    'MODEL_CONTEXT_LENGTH',
    false,
  ],
  [{ error: { code: 500 } }, false, 'MODEL_SERVER', true],
])(
  'the chunk %j (error event: %s) causes an error with code %s',
  (chunk, isErrorEvent, code, retryable) => {
    expect(errorOfChunk(chunk, isErrorEvent)).toMatchObject({ code, retryable });
  },
);

test.each([
  [{ choices: [] }],
  [{ choices: [], base_resp: minimax(0, '') }],
  [{ error: null }],
  [null],
  ['text'],
  [7],
])('the chunk %j reports no error', (chunk) => {
  expect(errorOfChunk(chunk)).toBeUndefined();
});

test('an error about a request that is too long cannot be retried', () => {
  const error = errorOfChunk({
    error: { message: "This model's maximum context length is 8192 tokens." },
  });
  expect([error?.code, error?.retryable]).toEqual(['MODEL_CONTEXT_LENGTH', false]);
});

test('a chunk with a text as `code` is an error (DashScope), but not with a number (others number their chunks)', () => {
  expect(errorOfChunk({ code: 'InternalError', message: 'Try again.' })).toMatchObject({
    code: 'MODEL_SERVER',
    message: 'The model server reported an error: Try again.',
    details: { providerCode: 'InternalError' },
  });
  expect(errorOfChunk({ code: 0, message: 'Success' })).toBeUndefined();
  expect(errorOfChunk({ code: '', output: {} })).toBeUndefined();
});

function minimax(code: number, message: string): object {
  return { status_code: code, status_msg: message };
}
