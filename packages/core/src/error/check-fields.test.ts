import { expect, test } from 'vitest';
import { checkFields } from './check-fields.ts';

const check = (value: unknown, kinds: string) => () =>
  checkFields('INVALID_INPUT', 'Here', { field: value }, `field:${kinds} other:?`);

test.each<[string, readonly unknown[], readonly unknown[], words?: string]>([
  ['string', ['', 'x'], [5, null, undefined, ['x']]],
  ['string|?', ['x', undefined], [null, 5], 'string'],
  ['count', [0, 0.5, Infinity], [-1, Number.NaN, '3', null, undefined], 'number >= 0'],
  ['count|all|?', [3, 'all', undefined], [-1, 'none', null], 'number >= 0|all'],
  ['array', [[]], [{}, 'x', null, undefined]],
  ['stop|pause', ['stop', 'pause'], ['', 'Stop', undefined, ['stop']]],
  ['read()', [{ read() {} }], [{}, { read: 1 }, null, undefined, 'read']],
  ['iterator()', [[], new Map(), new Set().values()], [{}, 5, null, undefined]],
  ['object', [{}, []], [null, 'text', () => {}]],
])('%s', (kinds, fit, unfit, words = kinds) => {
  for (const value of fit) expect(check(value, kinds)).not.toThrow();
  for (const value of unfit) expect(check(value, kinds)).toThrow(`Here: field must be ${words}.`);
});

test.each([null, undefined, 5, 'x'])('%s has no fields', (value) => {
  const error = expect.objectContaining({ code: 'CONFIGURATION', message: 'Here must be object.' });
  expect(() => checkFields('CONFIGURATION', 'Here', value, 'field:?')).toThrow(error);
});
