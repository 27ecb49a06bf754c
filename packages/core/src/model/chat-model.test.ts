import { expect, test } from 'vitest';
import { addUsage, tokenCount, type Usage } from './chat-model.ts';

test.each([
  [7, 7],
  [0, 0],
  ['10', 10],
  [' 3 ', 3],
  ['', undefined],
  ['many', undefined],
  [Number.NaN, undefined],
  [-1, undefined],
  [null, undefined],
  [undefined, undefined],
  [{}, undefined],
])('the token count of %j is %j', (value, count) => {
  expect(tokenCount(value)).toBe(count);
});

test('addUsage() adds counts that a model gives as text', () => {
  const usage = { inputTokens: '10', outputTokens: '5' } as unknown as Usage;
  expect(addUsage({ inputTokens: 0, outputTokens: 1 }, usage)).toEqual({
    inputTokens: 10,
    outputTokens: 6,
  });
});
