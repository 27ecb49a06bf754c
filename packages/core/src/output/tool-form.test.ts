import { expect, test } from 'vitest';
import * as z from 'zod';
import { toSchema } from '../schema/schema.ts';
import { asArguments } from './tool-form.ts';

test('asArguments() uses the schema of an object directly as the schema of the arguments', async () => {
  const schema = toSchema(z.object({ city: z.string().trim() }));
  const args = asArguments(schema);
  expect(args.jsonSchema).toEqual(schema.jsonSchema);
  expect(await args.validate({ city: ' Rome ' })).toEqual({
    ok: true,
    value: { value: { city: 'Rome' }, json: { city: ' Rome ' } },
  });
  expect(await args.validate({ city: 1 })).toMatchObject({
    ok: false,
    issues: [expect.stringMatching(/^city: /)],
  });
});

test('asArguments() wraps any other value in an object', async () => {
  const args = asArguments(toSchema(z.array(z.string())));
  expect(args.jsonSchema).toEqual({
    type: 'object',
    properties: { response: { type: 'array', items: { type: 'string' } } },
    required: ['response'],
    additionalProperties: false,
  });
  expect(await args.validate({ response: ['a'] })).toEqual({
    ok: true,
    value: { value: ['a'], json: ['a'] },
  });
  for (const input of [['a'], {}, null, 'a']) {
    expect(await args.validate(input)).toEqual({ ok: false, issues: ['response: it is missing'] });
  }
});

test('references in a wrapped schema keep their targets', () => {
  const { jsonSchema } = asArguments({
    jsonSchema: {
      anyOf: [
        { $ref: '#/$defs/node' },
        { $ref: '#' },
        { $ref: '#/anyOf/0' },
        { properties: { $ref: { $ref: '#/definitions/old' } } },
      ],
      $defs: { node: { items: { $ref: '#' } } },
      definitions: { old: { type: 'string' } },
    },
    validate: (value) => ({ ok: true, value }),
  });
  expect(jsonSchema).toEqual({
    type: 'object',
    properties: {
      response: {
        anyOf: [
          { $ref: '#/$defs/node' },
          { $ref: '#/properties/response' },
          { $ref: '#/properties/response/anyOf/0' },
          { properties: { $ref: { $ref: '#/definitions/old' } } },
        ],
      },
    },
    required: ['response'],
    additionalProperties: false,
    $defs: { node: { items: { $ref: '#/properties/response' } } },
    definitions: { old: { type: 'string' } },
  });
});
