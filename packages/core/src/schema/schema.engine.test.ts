import { expect, test } from 'vitest';
import * as z from 'zod';
import { toSchema, type StandardSchema } from './schema.ts';

test('toSchema() of a Zod schema gives the model its JSON Schema and validates values', async () => {
  const schema = toSchema(
    z.object({ city: z.string().describe('A city'), days: z.number().int().default(3) }),
  );
  expect(schema.jsonSchema).toMatchObject({
    type: 'object',
    properties: {
      city: { type: 'string', description: 'A city' },
      days: { type: 'integer', default: 3 },
    },
    required: ['city'],
  });
  expect(schema.jsonSchema).not.toHaveProperty('$schema');
  expect(await schema.validate({ city: 'Paris' })).toEqual({
    ok: true,
    value: { city: 'Paris', days: 3 },
  });
});

test('issues contain the path of the value', async () => {
  const schema = toSchema(z.object({ stops: z.array(z.object({ city: z.string() })) }));
  const result = await schema.validate({ stops: [{ city: 'Rome' }, { city: 7 }] });
  expect(result).toMatchObject({ ok: false, issues: [expect.stringMatching(/^stops\.1\.city: /)] });
});

test('awaits asynchronous checks', async () => {
  const schema = toSchema(z.string().refine(async (value) => value === 'yes', 'say yes'));
  expect(await schema.validate('no')).toMatchObject({ ok: false, issues: ['say yes'] });
});

test('plain JSON Schema is passed on unchanged', async () => {
  const plain = { type: 'object', properties: { a: { type: 'number' } } };
  const schema = toSchema(plain);
  expect(schema.jsonSchema).toBe(plain);
  expect(await schema.validate({ a: 'text' })).toEqual({ ok: true, value: { a: 'text' } });
});

test('a schema library without JSON Schema is rejected, and the error names an alternative', () => {
  const foreign = {
    '~standard': { version: 1, vendor: 'other', validate: (value: unknown) => ({ value }) },
  } as unknown as StandardSchema;
  expect(() => toSchema(foreign)).toThrowError(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining('"other"') }),
  );
});
