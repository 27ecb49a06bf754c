import { expect, test } from 'vitest';
import { checkFields } from './check-fields.ts';
import { checkNoOptions, checkOptions } from './check-options.ts';
import {
  anything,
  array,
  boolean,
  either,
  func,
  infinity,
  iterable,
  natural,
  nonNegative,
  nullable,
  number,
  object,
  oneOf,
  optional,
  positive,
  share,
  string,
  strings,
  whole,
  withMethod,
} from './kinds.ts';
import type { AllFields, Kind, OptionTable, OtherNames } from './option-table.ts';

const check = (value: unknown, kind: Kind) => () =>
  checkFields('Here', { field: value }, { field: kind, other: anything }, 'INVALID_INPUT');

const noop = (): void => {};

test.each<[name: string, kind: Kind, readonly unknown[], readonly unknown[], words: string]>([
  ['string', string, ['', 'x'], [5, null, undefined, ['x']], 'a string'],
  ['optional', optional(string), ['x', undefined], [null, 5], 'a string'],
  ['nullable', optional(nullable(string)), ['x', undefined, null], [5], 'a string'],
  ['number', number, [0, -1.5, Infinity], [Number.NaN, '3', null, undefined], 'a number'],
  ['boolean', boolean, [true, false], [0, 'true', null, undefined], 'a boolean'],
  ['func', func, [noop], [{}, 'x', null, undefined], 'a function'],
  [
    'nonNegative',
    nonNegative,
    [0, 0.5, Infinity],
    [-1, Number.NaN, '3', null, undefined],
    'a number of 0 or more',
  ],
  [
    'either, optional',
    optional(either(nonNegative, oneOf('all'))),
    [3, 'all', undefined],
    [-1, 'none', null],
    "a number of 0 or more or 'all'",
  ],
  ['positive', positive, [0.5, Infinity], [0, -1, Number.NaN, '3'], 'a number above 0'],
  ['share', share, [0, 0.5, 1], [-0.1, 1.1, Number.NaN, '1'], 'a number from 0 to 1'],
  ['whole', whole, [0, 3], [0.5, -1, Infinity, Number.NaN, '3'], 'a whole number of 0 or more'],
  [
    'natural or infinity, optional',
    optional(either(natural, infinity)),
    [1, Infinity, undefined],
    [0, 1.5, '1'],
    'a whole number of 1 or more or Infinity',
  ],
  ['strings', strings, [[], ['a']], [['a', 5], 'a', {}, undefined], 'an array of strings'],
  ['array', array, [[]], [{}, 'x', null, undefined], 'an array'],
  [
    'oneOf',
    oneOf('stop', 'pause'),
    ['stop', 'pause'],
    ['', 'Stop', undefined, ['stop']],
    "'stop' or 'pause'",
  ],
  [
    'withMethod',
    withMethod('read'),
    [{ read() {} }],
    [{}, { read: 1 }, null, undefined, 'read'],
    'an object with read()',
  ],
  [
    'iterable',
    iterable,
    [[], new Map(), new Set().values()],
    [{}, 5, null, undefined],
    'an iterable',
  ],
  ['object', object, [{}, []], [null, 'text', noop], 'an object'],
])(
  'checkFields() accepts valid values and rejects invalid values of the kind %s',
  (_name, kind, fit, unfit, words) => {
    for (const value of fit) expect(check(value, kind)).not.toThrow();
    for (const value of unfit)
      expect(check(value, kind)).toThrow(`Here: field must be ${words}; got`);
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
  expect(check(value, string)).toThrow(`Here: field must be a string; got ${got}.`);
});

test('the error message describes the first item that is no name', () => {
  expect(check(['a', 5, {}], strings)).toThrow(
    'Here: field must be an array of strings; got an array.',
  );
});

test.each([null, undefined, 5, 'x'])(
  'checkFields() rejects %s, because it has no fields',
  (value) => {
    const message = expect.stringMatching(/^Here must be an object; got /);
    const error = expect.objectContaining({ code: 'CONFIGURATION', message });
    expect(() => checkFields('Here', value, { field: anything })).toThrow(error);
  },
);

test('checkOptions() rejects an unknown option, and lists all options', () => {
  const table = { name: string, systemPrompt: optional(string), limits: optional(object) };
  const message = 'Here has no option `color`. It has: name, systemPrompt, limits.';
  const error = expect.objectContaining({ code: 'CONFIGURATION', message });
  expect(() => checkOptions('Here', { name: 'a', color: 'red' }, table)).toThrow(error);
});

test('checkOptions() accepts an unknown option whose value is undefined', () => {
  const options = { name: 'a', color: undefined };
  expect(() => checkOptions('Here', options, { name: string })).not.toThrow();
});

test.each(['toString', 'constructor', '__proto__'])(
  'checkOptions() rejects the option %s, which all objects inherit',
  (key) => {
    const options = JSON.parse(`{ "name": "a", "${key}": 1 }`) as object;
    const message = `Here has no option \`${key}\`. It has: name.`;
    expect(() => checkOptions('Here', options, { name: string })).toThrow(message);
  },
);

test('checkOptions() says which option takes the place of one of another library', () => {
  const checkColor = () =>
    checkOptions('Here', { color: 1 }, { paint: anything }, 'CONFIGURATION', {
      paint: ['color', 'colour'],
    });
  expect(checkColor).toThrow('Here has no option `color`. It has: paint. Use `paint`.');
});

test('checkNoOptions() rejects each argument but undefined, and says what to do', () => {
  expect(() => checkNoOptions('here()', [undefined])).not.toThrow();
  expect(() => checkNoOptions('here()', [{}])).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: 'here() takes no options.' }),
  );
  expect(() => checkNoOptions('here()', [{ a: 1 }], 'Leave it out.')).toThrow(
    'here() takes no options. Leave it out.',
  );
});

interface Options {
  readonly size: number;
  readonly mode?: 'fast' | 'small';
  readonly tools?: string | readonly string[];
  readonly onEnd?: (size: number) => void;
}

test('the compiler compares a table with the type of the options', () => {
  const table: OptionTable<Options> = {
    size: natural,
    mode: optional(oneOf('fast', 'small')),
    tools: optional(either(string, strings)),
    onEnd: optional(func),
  };
  // @ts-expect-error -- the table lacks the option `onEnd`
  const incomplete: OptionTable<Options> = { size: natural, mode: anything, tools: anything };
  const other: OptionTable<Options> = {
    ...table,
    // @ts-expect-error -- there is no such option
    colour: string,
  };
  const wrongKind: OptionTable<Options> = {
    ...table,
    // @ts-expect-error -- the option is a number
    size: string,
  };
  const narrow: OptionTable<Options> = {
    ...table,
    // @ts-expect-error -- the kind refuses `small`
    mode: optional(oneOf('fast')),
    // @ts-expect-error -- the kind refuses a string
    tools: optional(strings),
  };
  const required: OptionTable<Options> = {
    ...table,
    // @ts-expect-error -- the option may be left out
    onEnd: func,
  };
  const union: OptionTable<AllFields<{ readonly a: 1 } | { readonly b: string }>> = {
    a: optional(number),
    // @ts-expect-error -- one of the types lacks the field
    b: string,
  };
  // @ts-expect-error -- the advice names no option
  const names: OtherNames<Options> = { length: ['count'] };
  const nested: OtherNames<Options> = {
    size: ['count'],
    'tools.length': ['end'],
    'use: [log()]': ['logger'],
  };
  const tables = [table, incomplete, other, wrongKind, narrow, required, union, names, nested];
  expect(tables).toHaveLength(9);
});
