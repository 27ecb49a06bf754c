import { expect, test } from 'vitest';
import { regExpWork } from '../../test-support/regexp-work.ts';
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
