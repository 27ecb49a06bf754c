import { expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import { tool, type Tool } from './tool.ts';
import { toolList } from './set/tool-set.ts';
import { Toolkit } from './set/toolkit.ts';
import { outputResult } from './tool-call.ts';

const make = (name: string) =>
  tool({ name, description: name, input: { type: 'object' }, execute: () => name });

test('the input of execute() has the output type of the schema', () => {
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

test.for(['', 'a b', 'x'.repeat(65), '天気'])('a tool rejects the name %j', (name) => {
  expect(() => make(name)).toThrowError(expect.objectContaining({ code: 'CONFIGURATION' }));
});

test('a toolkit rejects two tools with the same name, and keeps the order of its tools', () => {
  expect(() => new Toolkit([make('a'), make('a')])).toThrowError(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
  const toolkit = new Toolkit([make('b'), make('a')]);
  expect(toolkit.schemas().map(({ name }) => name)).toEqual(['b', 'a']);
  expect(toolkit.schemas()).toBe(toolkit.schemas());
});

test('a fork keeps a copied tool with other fields, also after a change of its preset', () => {
  const input = z.object({ n: z.number(), key: z.string() });
  const made = tool({
    name: 'a',
    description: 'A',
    input,
    preset: { key: 'k' },
    execute: () => 'a',
  });
  const copy: Tool = { ...made, returnDirect: true, timeoutMs: 5, execute: () => 'copy' };
  const toolkit = new Toolkit([copy]);
  const changed = new Toolkit([copy], { presetPriority: 'model' });
  toolkit.updatePreset('a', { key: 'other' });
  for (const set of [toolList([copy]).fork(), toolkit.fork(), changed.fork()]) {
    const found = set.find('a') as Tool;
    expect(found).toMatchObject({ returnDirect: true, timeoutMs: 5, execute: copy.execute });
    expect(found.schema).toEqual(made.schema);
  }
  expect((toolkit.find('a') as Tool).preset).toEqual({ key: 'other' });
});

const use = { type: 'tool_use', id: '1', name: 't', input: {} } as const;
const image = {
  type: 'image',
  source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' },
} as const;

test.for([
  ['text', 'plain', 'plain'],
  ['nothing', undefined, ''],
  ['a number', 3, '3'],
  ['an object', { a: [1] }, '{"a":[1]}'],
  ['content', { content: [image] }, [image]],
  [
    'an object that only looks like content',
    { content: [{ type: 'image' }] },
    '{"content":[{"type":"image"}]}',
  ],
] as const)('outputResult() makes a result of %s', ([, output, expected]) => {
  expect(outputResult(use, output)).toMatchObject({ output: expected, state: 'success' });
});
