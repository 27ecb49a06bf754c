import { expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import { tool } from './tool.ts';
import { Toolkit } from './toolkit.ts';
import { outputResult } from './tool-result.ts';

const make = (name: string) => tool({ name, description: name, input: { type: 'object' }, execute: () => name });

test('the input of execute has the schema’s output type', () => {
  tool({
    name: 'typed',
    description: '',
    input: z.object({ n: z.number().default(1) }),
    execute: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ n: number }>();
      return input.n;
    },
  });
});

test.for(['', 'a b', 'x'.repeat(65), '天気'])('the name %j is refused', (name) => {
  expect(() => make(name)).toThrowError(expect.objectContaining({ code: 'CONFIGURATION' }));
});

test('a toolkit refuses two tools of one name and keeps the order', () => {
  expect(() => new Toolkit([make('a'), make('a')])).toThrowError(expect.objectContaining({ code: 'CONFIGURATION' }));
  const toolkit = new Toolkit([make('b'), make('a')]);
  expect(toolkit.schemas().map(({ name }) => name)).toEqual(['b', 'a']);
  expect(toolkit.schemas()).toBe(toolkit.schemas());
});

const use = { type: 'tool_use', id: '1', name: 't', input: {} } as const;
const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' } } as const;

test.for([
  ['text', 'plain', 'plain'],
  ['nothing', undefined, ''],
  ['a number', 3, '3'],
  ['an object', { a: [1] }, '{"a":[1]}'],
  ['content', { content: [image] }, [image]],
  ['an object that only looks like content', { content: [{ type: 'image' }] }, '{"content":[{"type":"image"}]}'],
] as const)('%s as a tool’s output', ([, output, expected]) => {
  expect(outputResult(use, output)).toMatchObject({ output: expected, state: 'success' });
});
