import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../message/json.ts';
import { jsonSchema } from './json-schema.ts';
import { toSchema } from './schema.ts';

/** Returns the issues that a model gets, or an empty array if the value is valid. */
async function linesOf(schema: JsonObject, value: unknown): Promise<readonly string[]> {
  const result = await toSchema(jsonSchema(schema)).validate(value);
  return result.ok ? [] : result.issues;
}

const order: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^[A-Z]{2}\\d+$' },
    items: { type: 'array', minItems: 1, items: { $ref: '#/$defs/item' } },
    state: { enum: ['open', 'paid'] },
    note: { type: ['string', 'null'], maxLength: 5 },
  },
  required: ['id', 'items'],
  additionalProperties: false,
  $defs: {
    item: {
      type: 'object',
      properties: { name: { type: 'string' }, count: { type: 'integer', minimum: 1 } },
      required: ['name'],
    },
  },
};

test('validate() returns a valid value unchanged', async () => {
  const value = { id: 'AB12', items: [{ name: '柿', count: 2 }], state: 'open', note: null };
  const result = await toSchema(jsonSchema(order)).validate(value);
  expect(result).toEqual({ ok: true, value });
  expect(result.ok && result.value).toBe(value);
});

test('every mistake is reported with its path', async () => {
  const lines = await linesOf(order, {
    id: 'ab',
    items: [{ count: 0 }, { name: 7 }],
    state: 'gone',
    note: '123456',
    more: 1,
  });
  expect(lines).toEqual([
    'id: must match ^[A-Z]{2}\\d+$',
    'items.0.name: is required',
    'items.0.count: 0 is less than 1',
    'items.1.name: must be string, is number',
    'state: must be one of ["open","paid"]',
    'note: is too long (6 > 5)',
    'more: is not allowed',
  ]);
});

test('the model gets the given schema without annotations of the validator', () => {
  const { $schema: _dialect, ...rest } = order;
  expect(toSchema(jsonSchema(order)).jsonSchema).toEqual(rest);
  expect(
    JSON.stringify(jsonSchema(order)['~standard'].jsonSchema.input({ target: 'draft-2020-12' })),
  ).toBe(JSON.stringify(order));
  expect(Object.getOwnPropertyNames(order)).not.toContain('__absolute_uri__');
});

test.each<[name: string, schema: JsonObject, value: JsonValue, lines: readonly string[]]>([
  ['type', { type: 'integer' }, 1.5, ['must be integer, is number']],
  ['types', { type: ['string', 'null'] }, [], ['must be string or null, is array']],
  ['const', { const: { a: 1 } }, { a: 2 }, ['must be {"a":1}']],
  ['not', { not: { type: 'null' } }, null, ['must not match the schema in "not"']],
  ['format', { format: 'date' }, 'yesterday', ['String does not match format "date"']],
  ['length in characters', { maxLength: 2 }, '😀😀😀', ['is too long (3 > 2)']],
  ['multipleOf', { multipleOf: 0.1 }, 0.35, ['0.35 is not a multiple of 0.1']],
  [
    'uniqueItems',
    { uniqueItems: true },
    [{ a: 1 }, { a: 1 }],
    ['Duplicate items at indexes 0 and 1'],
  ],
  [
    'contains',
    { contains: { type: 'string' } },
    [1],
    ['Array does not contain item matching schema'],
  ],
  [
    'prefixItems',
    { prefixItems: [{ type: 'string' }], items: false },
    [1, 2],
    ['0: must be string, is number', '1: is not allowed'],
  ],
  ['minProperties', { minProperties: 1 }, {}, ['does not have at least 1 properties']],
  [
    'maxProperties',
    { $ref: '#/$defs/a', $defs: { a: { maxProperties: 1 } } },
    { a: 1, b: 2 },
    ['has more than 1 properties'],
  ],
  [
    'propertyNames',
    { propertyNames: { maxLength: 1 } },
    { ab: 1 },
    ['Property name "ab" does not match schema', 'ab: is too long (2 > 1)'],
  ],
  [
    'dependentRequired',
    { dependentRequired: { a: ['b'] } },
    { a: 1 },
    ['has "a" but does not have "b"'],
  ],
  [
    'patternProperties',
    { patternProperties: { '^n': { type: 'number' } } },
    { n: '1' },
    ['n: must be number, is string'],
  ],
  [
    'if then',
    JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]}}'),
    { a: 1 },
    ['b: is required'],
  ],
  [
    'allOf',
    { allOf: [{ required: ['a'] }, { required: ['b"c"'] }] },
    {},
    ['a: is required', 'b"c": is required'],
  ],
  [
    'unevaluatedProperties',
    { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
    { a: 1, b: 2 },
    ['b: is not allowed'],
  ],
  ['false', { properties: { a: false } }, { a: 1 }, ['a: is not allowed']],
  [
    'keys that a pointer escapes',
    { properties: { 'a/b~c%20#d é': { type: 'null' } } },
    { 'a/b~c%20#d é': 1 },
    ['a/b~c%20#d é: must be null, is number'],
  ],
])('jsonSchema() reports a violation of %s', async (_name, schema, value, lines) => {
  expect(await linesOf(schema, value)).toEqual(lines);
});

test('the errors of each form of a union are listed, and later errors are reported separately', async () => {
  const schema: JsonObject = {
    properties: {
      to: {
        anyOf: [
          { type: 'string' },
          {
            type: 'object',
            properties: { kind: { const: 'mail' } },
            required: ['kind', 'address'],
            additionalProperties: false,
          },
        ],
      },
      when: { oneOf: [{ type: 'number' }, { minimum: 3 }] },
    },
    additionalProperties: false,
  };
  expect(await linesOf(schema, { to: { kind: 'post', x: 1 }, when: 5, y: 1 })).toEqual([
    'to: fits none of the forms: must be string, is object | address is required, kind must be "mail", x is not allowed',
    'when: fits 2 of the forms, must fit exactly one',
    'y: is not allowed',
  ]);
  expect(
    await linesOf({ anyOf: Array.from({ length: 20 }, (_, index) => ({ const: index })) }, 'x'),
  ).toEqual([
    'fits none of the forms: must be 0 | must be 1 | must be 2 | must be 3 | must be 4 | must be 5 | must be 6 | must be 7 or 12 more',
  ]);
});

test('drafts differ in keywords beside a $ref and in lists of items', async () => {
  const draft7: JsonObject = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    definitions: { short: { maxLength: 2 } },
    properties: {
      a: { $ref: '#/definitions/short', minLength: 2 },
      b: { items: [{ type: 'string' }], additionalItems: false },
      c: { dependencies: { x: ['y'] } },
    },
  };
  expect(await linesOf(draft7, { a: 'a', b: ['b'], c: { x: 1, y: 1 } })).toEqual([]);
  expect(await linesOf(draft7, { a: 'abc', b: ['b', 1], c: { x: 1 } })).toEqual([
    'a: is too long (3 > 2)',
    'b.1: is not allowed',
    'c: has "x" but does not have "y"',
  ]);
  const { $schema: _draft, ...undated } = draft7;
  expect(
    await linesOf(
      { ...undated, properties: { a: draft7['properties']!['a' as never] } },
      { a: 'a' },
    ),
  ).toEqual(['a: is too short (1 < 2)']);
  const asDraft7 = await jsonSchema(undated, { draft: '7' })['~standard'].validate({ a: 'a' });
  expect(asDraft7.issues).toBeUndefined();
});

test('a schema may refer to itself, also by $anchor and $id', async () => {
  const tree: JsonObject = {
    $id: 'https://example.com/tree',
    $anchor: 'node',
    type: 'object',
    properties: {
      name: { type: 'string' },
      children: { type: 'array', items: { $ref: '#node' } },
      next: { $ref: 'https://example.com/tree' },
    },
    required: ['name'],
  };
  expect(
    await linesOf(tree, {
      name: 'a',
      children: [{ name: 'b', children: [] }],
      next: { name: 'c' },
    }),
  ).toEqual([]);
  expect(
    await linesOf(tree, { name: 'a', children: [{ name: 'b', children: [{}] }], next: {} }),
  ).toEqual(['children.0.children.0.name: is required', 'next.name: is required']);
});

test('a value that cannot be checked is invalid', async () => {
  const list: JsonObject = { type: 'array', items: { $ref: '#' } };
  let deep: JsonValue = [];
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
  for (const value of [deep, undefined, [undefined], 1n]) {
    expect(await linesOf(list, value)).toEqual([expect.stringContaining('could not be checked')]);
  }
});

test('a schema is compiled once, and later changes to it have no effect', async () => {
  const schema = { type: 'string', minLength: 2 };
  const first = jsonSchema(schema);
  expect(jsonSchema(schema)).toBe(first);
  expect(jsonSchema(schema, { draft: '7' })).not.toBe(first);
  expect(jsonSchema({ ...schema })).not.toBe(first);
  schema.minLength = 0;
  expect(await linesOf(schema, 'a')).toEqual(['is too short (1 < 2)']);
});

test('accepts a frozen schema', async () => {
  const inner = Object.freeze({ $ref: '#/$defs/a' });
  const schema = Object.freeze({
    properties: Object.freeze({ a: inner, b: inner }),
    $defs: { a: { type: 'string' } },
  }) as unknown as JsonObject;
  expect(await linesOf(schema, { a: 1, b: 2 })).toEqual([
    'a: must be string, is number',
    'b: must be string, is number',
  ]);
});

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

test.each<[schema: unknown, words: string]>([
  ['{}', 'A JSON Schema must be an object.'],
  [null, 'A JSON Schema must be an object.'],
  [[], 'A JSON Schema must be an object.'],
  [cyclic, 'The JSON Schema cannot be written as JSON'],
  [{ type: 'strin' }, 'The JSON Schema at #: "strin" is not a JSON Schema type.'],
  [
    { properties: { a: { type: ['string', 'nil'] } } },
    'The JSON Schema at #/properties/a: "nil" is not a JSON Schema type.',
  ],
  [
    { properties: { a: 'string' } },
    'The JSON Schema at #/properties/a: a schema must be an object, true or false.',
  ],
  [{ properties: [] }, 'The JSON Schema at #: "properties" must be an object.'],
  [{ required: 'a' }, 'The JSON Schema at #: "required" must be an array.'],
  [{ items: { minLength: '3' } }, 'The JSON Schema at #/items: "minLength" must be a number.'],
  [
    { anyOf: [{ pattern: '[' }] },
    'The JSON Schema at #/anyOf/0: "[" is not a regular expression (flag u).',
  ],
  [
    { patternProperties: { '(': true } },
    'The JSON Schema at #: "(" is not a regular expression (flag u).',
  ],
  [{ $ref: '#/$defs/a' }, 'The JSON Schema at #: the "$ref" "#/$defs/a" points to nothing.'],
  [
    { $ref: 'https://example.com/other' },
    'The JSON Schema at #: the "$ref" "https://example.com/other" points to nothing.',
  ],
  [
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    'The JSON Schema at #: the "$ref" "#/$defs/a" refers to itself.',
  ],
  [{ $ref: 7 }, 'The JSON Schema at #: the "$ref" 7 points to nothing.'],
  [{ $dynamicRef: '#a' }, 'The JSON Schema at #: "$dynamicRef" is not supported.'],
  [
    { $schema: 'https://example.com/mine' },
    '"https://example.com/mine" is not a known draft of JSON Schema. Use 4, 7, 2019-09 or 2020-12.',
  ],
])('an invalid schema is rejected: %j', (schema, words) => {
  expect(() => jsonSchema(schema as JsonObject)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
  expect(() => jsonSchema(schema as JsonObject)).toThrow(words);
});

test('a check ends whose references multiply at each level', async () => {
  const levels = 22;
  const names = Array.from({ length: levels }, (_, level) => `#/$defs/a${level}`);
  const $defs = Object.fromEntries(
    names.map((_, level) => {
      const $ref = names[level + 1];
      return [`a${level}`, $ref === undefined ? true : { allOf: [{ $ref }, { $ref }] }];
    }),
  );
  const bomb = { $defs, $ref: '#/$defs/a0' };
  const words = 'could not be checked: the references of its JSON Schema multiply';
  expect(await linesOf(bomb, {})).toEqual([words]);
  // Each check counts its own references.
  const item = { $defs: { a: true }, items: { $ref: '#/$defs/a' } };
  const items = Array.from({ length: 200_000 }, () => 1);
  expect(await linesOf(item, items)).toEqual([]);
  expect(await linesOf(item, items)).toEqual([]);
});
