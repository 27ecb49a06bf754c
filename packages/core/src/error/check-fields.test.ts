import { expect, test } from 'vitest';
import { checkFields, checkOptions } from './agent-error.ts';

const check = (value: unknown, kinds: string) => () =>
  checkFields('Here', { field: value }, `field:${kinds} other`, 'INVALID_INPUT');

test.each<[string, readonly unknown[], readonly unknown[], words: string]>([
  ['string', ['', 'x'], [5, null, undefined, ['x']], 'a string'],
  ['string|?', ['x', undefined], [null, 5], 'a string'],
  [
    'nonNegative',
    [0, 0.5, Infinity],
    [-1, Number.NaN, '3', null, undefined],
    'a number of 0 or more',
  ],
  [
    'nonNegative|all|?',
    [3, 'all', undefined],
    [-1, 'none', null],
    "a number of 0 or more or 'all'",
  ],
  ['positive', [0.5, Infinity], [0, -1, Number.NaN, '3'], 'a number above 0'],
  ['whole', [0, 3], [0.5, -1, Infinity, Number.NaN, '3'], 'a whole number of 0 or more'],
  [
    'natural|Infinity|?',
    [1, Infinity, undefined],
    [0, 1.5, '1'],
    'a whole number of 1 or more or Infinity',
  ],
  ['names', [[], ['a']], [['a', 5], 'a', {}, undefined], 'an array of strings'],
  ['array', [[]], [{}, 'x', null, undefined], 'an array'],
  ['stop|pause', ['stop', 'pause'], ['', 'Stop', undefined, ['stop']], "'stop' or 'pause'"],
  ['read()', [{ read() {} }], [{}, { read: 1 }, null, undefined, 'read'], 'an object with read()'],
  ['iterator()', [[], new Map(), new Set().values()], [{}, 5, null, undefined], 'an iterable'],
  ['object', [{}, []], [null, 'text', () => {}], 'an object'],
])(
  'checkFields() accepts valid values and rejects invalid values of the kind %s',
  (kinds, fit, unfit, words) => {
    for (const value of fit) expect(check(value, kinds)).not.toThrow();
    for (const value of unfit)
      expect(check(value, kinds)).toThrow(`Here: field must be ${words}; got`);
  },
);

test.each<[unknown, string]>([
  [undefined, 'nothing'],
  [null, 'null'],
  [[], 'an array'],
  [{}, 'an object'],
  [5, '5'],
  [Number.NaN, 'NaN'],
])('the error message describes the value %j', (value, got) => {
  expect(check(value, 'string')).toThrow(`Here: field must be a string; got ${got}.`);
});

test('the error message describes the first item that is no name', () => {
  expect(check(['a', 5, {}], 'names')).toThrow(
    'Here: field must be an array of strings; got an array.',
  );
});

test.each([null, undefined, 5, 'x'])(
  'checkFields() rejects %s, because it has no fields',
  (value) => {
    const message = expect.stringMatching(/^Here must be an object; got /);
    const error = expect.objectContaining({ code: 'CONFIGURATION', message });
    expect(() => checkFields('Here', value, 'field')).toThrow(error);
  },
);

test('checkOptions() rejects an unknown option, and lists all options', () => {
  const fields = 'name:string systemPrompt:string|? limits:object|?';
  const message = 'Here has no option `color`. It has: name, systemPrompt, limits.';
  const error = expect.objectContaining({ code: 'CONFIGURATION', message });
  expect(() => checkOptions('Here', { name: 'a', color: 'red' }, fields)).toThrow(error);
});

test('checkOptions() accepts an unknown option whose value is undefined', () => {
  const options = { name: 'a', color: undefined };
  expect(() => checkOptions('Here', options, 'name:string')).not.toThrow();
});
