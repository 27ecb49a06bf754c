import { expect, test } from 'vitest';
import { nameMatcher } from './name-pattern.ts';

test.for([
  ['mail_*', 'mail_send', true],
  ['mail_*', 'mail_', true],
  ['mail_*', 'mail', false],
  ['*_send', 'mail_send', true],
  ['*_send', 'mail_sender', false],
  ['a*b*c', 'axbxc', true],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'acb', false],
  ['ab*ba', 'aba', false],
  ['ab*ba', 'abba', true],
  ['*', 'anything', true],
  ['*', '', true],
  ['**', 'x', true],
  ['*a*', 'bab', true],
  ['*a*', 'bbb', false],
  ['x*aa*a', 'xaa', false],
] as const)('the pattern %s and the name %s: %s', ([pattern, name, expected]) => {
  expect(nameMatcher('f()', [pattern])(name)).toBe(expected);
});

test('a pattern with many stars is compared in linear time', () => {
  const pattern = `${'*a'.repeat(5_000)}*b`;
  expect(nameMatcher('f()', [pattern])('a'.repeat(10_000))).toBe(false);
});

test('a pattern with a character that names cannot have is an error', () => {
  const create = () => nameMatcher('f()', ['mail.*']);
  expect(create).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});
