import { AgentError } from '@isoloop/core';
import { expect, test } from 'vitest';
import { readableError } from '../../demo/src/page/readable-error.ts';

test.for([
  ['MODEL_AUTH', 'The endpoint refused the key.', 'Check the key.'],
  ['MODEL_BAD_RESPONSE', 'is not a chat completion', 'most end with /v1'],
  ['MODEL_SERVER', 'The endpoint failed', 'Try again later'],
  ['MODEL_UNREACHABLE', 'can’t be reached', 'Start the server'],
] as const)('the demo explains %s and says what to do', ([code, title, fix]) => {
  const failures = [
    new AgentError(code, 'What the endpoint said.'),
    new Error(JSON.stringify({ error: { code, message: 'What the endpoint said.' } })),
  ];
  for (const failure of failures)
    expect(readableError(failure)).toEqual({
      title: expect.stringContaining(title),
      fix: expect.stringContaining(fix),
      detail: 'What the endpoint said.',
      code,
    });
});

test('the demo reads the code at the end of a stream’s error, and nothing else in brackets', () => {
  expect(readableError(new Error('Slow down. [MODEL_RATE_LIMITED]'))).toMatchObject({
    detail: 'Slow down.',
    code: 'MODEL_RATE_LIMITED',
  });
  expect(readableError(new Error('array[0] is odd'))).toMatchObject({ detail: 'array[0] is odd' });
});
