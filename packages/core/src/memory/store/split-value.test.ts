import { expect, test } from 'vitest';
import { joinValue, splitValue } from './split-value.ts';

const bytes = (text: string): number => new TextEncoder().encode(text).length;

test('splitValue() does not split a text that is exactly as long as the limit', () => {
  const text = JSON.stringify('東京 "x" 😀 é');
  expect(splitValue(text, bytes(text))).toEqual([text]);
  expect(splitValue(text, bytes(text) - 1).length).toBe(2);
});

test('the parts of splitValue() are JSON, stay within the limit, and join to the original text', () => {
  const text = JSON.stringify({
    a: '東京'.repeat(50),
    b: 'quote " backslash \\ line\n',
    c: '😀'.repeat(50),
    d: 'x'.repeat(500),
    e: '\ud83d',
  });
  for (let limit = 8; limit < 200; limit++) {
    const values = splitValue(text, limit);
    for (const value of values) {
      expect(bytes(value)).toBeLessThanOrEqual(limit);
      expect(typeof JSON.parse(value)).toBe('string');
    }
    expect(joinValue(values)).toBe(text);
  }
});
