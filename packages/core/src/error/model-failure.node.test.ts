import { expect, test } from 'vitest';
import { regExpWork } from '@test/support/regexp-work.ts';
import { classifyError } from './classify-error.ts';
import { modelFailure } from './model-failure.ts';
import { retryAfterOf } from './retry-after.ts';

const parts = [
  'a',
  ' ',
  '1',
  '1 ',
  '1s ',
  'input ',
  'prompt tokens ',
  'exceed ',
  'exceed context ',
  'too many ',
  'request too large for ',
  'insufficient ',
  'limit: 0',
  'content_',
  'error ',
  'code!',
  ': ',
  '\n',
  'retry in 1s 1s ',
  'retry after ',
  '"ratelimit',
  '"retryDelay":"1',
  '"x-ratelimit-reset":"',
  '输入',
];

test.each(parts)('a text of 20 000 characters with %j costs linear time', (part) => {
  const text = part.repeat(20_000 / part.length);
  const { excesses } = regExpWork(() => {
    modelFailure(text);
    modelFailure(text, 500);
    retryAfterOf(undefined, text, true);
    classifyError(new Error(text));
  }, 60);
  expect(excesses).toEqual([]);
});

test('the words of an HTML page and what the user sent do not count', () => {
  const page = '<html>This browser is not supported. Rate limit.</html>';
  for (const fields of [{ responseBody: page }, { message: `502 ${page}` }])
    expect(classifyError({ status: 502, ...fields })).toEqual({
      code: 'MODEL_SERVER',
      transient: true,
    });
  // FastAPI repeats the request.
  const detail = [{ type: 'missing', msg: 'Field required', input: 'Explain a rate limit' }];
  expect(classifyError({ status: 422, error: { detail } })).toEqual({
    code: 'MODEL_REQUEST',
    transient: false,
  });
});

test.each<[words: string, status: number | undefined, isTooLong: boolean]>([
  ['Context length exceeded', 400, true],
  ['ollama: context length exceeded for llama3', undefined, true],
  ['the request exceeds the available context size, try increasing it', 500, true],
  ['500 input length too long', 500, true],
  ['Prompt has 32769 tokens, but the configured context size is 32768 tokens', 400, true],
  // Nothing after 429 is about the window.
  ['The input tokens exceed the limit of your plan', 429, false],
  ['context deadline exceeded (Client.Timeout exceeded while awaiting headers)', 500, false],
  ['messages.0.content.1.image.source.base64: image exceeds 5 MB maximum', 400, false],
  ['At least one of the image dimensions exceed max allowed size: 8000 pixels', 400, false],
  ['The input image exceeds 20 MB', 400, false],
  ['Unrecognized request argument supplied: context_length', 400, false],
  ['tools.0.name: String should have at most 64 characters, string_too_long', 400, false],
  ['max_tokens exceeds the limit of this model', 400, false],
])('whether %j after status %s is about the length of the conversation: %s', (...row) => {
  const [words, status, isTooLong] = row;
  expect(modelFailure(words, status)?.code === 'MODEL_CONTEXT_LENGTH').toBe(isTooLong);
});

test('words about an invalid request count only if there is no status', () => {
  const words = '{"error":{"message":"Upstream failed","type":"invalid_request_error"}}';
  expect(modelFailure(words)).toEqual({ code: 'MODEL_REQUEST', transient: false });
  expect(modelFailure(words, 503)).toEqual({ code: 'MODEL_SERVER', transient: true });
});

test.each([
  ['Rate limit reached', true],
  ['token_rate_limit', true],
  ['TokenRateLimitError', true],
  ['Your corporate limits do not allow this model', false],
  ['The fields first and second have separate limits', false],
])('whether %j is about a rate limit: %s', (words, isLimit) => {
  expect(modelFailure(words, 400)?.code === 'MODEL_RATE_LIMITED').toBe(isLimit);
});
