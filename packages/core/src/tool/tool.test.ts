import { expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import { tool, type Tool } from './tool.ts';
import { toolList } from './set/tool-set.ts';
import { Toolkit } from './set/toolkit.ts';
import { outputResult } from './tool-call.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { toolResultsOf } from '../message/msg.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';

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

const input = z.object({ city: z.string(), key: z.string(), unit: z.string().optional() });
const echo = (preset?: Record<string, string>) =>
  tool({
    name: 'echo',
    description: '',
    input,
    ...(preset && { preset }),
    execute: (value) => value,
  });
const failsWith = (code: string, text: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(text) as unknown as string });

/**
 * Returns the arguments that the tool gets for this input of the model, or the text of its error.
 */
async function got(
  tools: readonly Tool[] | Toolkit,
  sent: object,
  presetPriority?: 'model',
): Promise<unknown> {
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ name: 'echo', input: { ...sent } }] }, 'done'],
    { tools, ...(presetPriority && { presetPriority }) },
  );
  await agent.call('go');
  expect(JSON.stringify(model.requests[0]!.tools)).not.toContain('key');
  const [result] = model.requests[1]!.messages.flatMap(toolResultsOf);
  return result!.state === 'success' ? JSON.parse(result!.output as string) : result!.output;
}

test('the model does not see a preset argument', () => {
  const { parameters } = echo({ key: 'k' }).schema;
  expect(parameters).toMatchObject({ type: 'object', required: ['city'] });
  expect(Object.keys(parameters['properties'] as object)).toEqual(['city', 'unit']);
});

test.for([
  ['an array', (made: Tool) => [made]],
  ['a toolkit', (made: Tool) => new Toolkit([made])],
] as const)(
  'the preset replaces the model’s value before validation, for tools in %s',
  async ([, tools]) => {
    expect(await got(tools(echo({ key: 'k' })), { city: 'Paris' })).toEqual({
      city: 'Paris',
      key: 'k',
    });
    expect(await got(tools(echo({ key: 'k' })), { city: 'Paris', key: 'stolen' })).toEqual({
      city: 'Paris',
      key: 'k',
    });
    expect(await got(tools(echo({ key: 'k' })), {})).toContain('city');
  },
);

test("with `presetPriority: 'model'` the model’s value takes precedence", async () => {
  const tools = [echo({ key: 'k' })];
  expect(await got(tools, { city: 'Paris', key: 'mine' }, 'model')).toEqual({
    city: 'Paris',
    key: 'mine',
  });
  expect(await got(tools, { city: 'Paris' }, 'model')).toEqual({ city: 'Paris', key: 'k' });
  expect(await got(tools, { city: 'Paris', key: 'mine' })).toEqual({ city: 'Paris', key: 'k' });
  const fork = new Toolkit(tools).fork({ presetPriority: 'model' });
  expect(
    await got(new Toolkit(tools, { presetPriority: 'model' }), { city: 'a', key: 'b' }, 'model'),
  ).toMatchObject({ key: 'b' });
  fork.updatePreset('echo', { unit: 'C' });
  expect(await (fork.find('echo') as Tool).input.validate({ city: 'a', key: 'b' })).toEqual({
    ok: true,
    value: { city: 'a', key: 'b', unit: 'C' },
  });
});

test('updatePreset() changes preset arguments during the life of an agent and keeps the others', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'echo', input: { city: 'a' } }] },
    'one',
    { toolCalls: [{ name: 'echo', input: { city: 'b' } }] },
    'two',
  ]);
  const toolkit = new Toolkit([echo({ key: 'k' })]);
  const agent = new ReActAgent({ name: 'a', model, tools: toolkit });
  await agent.call('go');
  (agent.tools as Toolkit).updatePreset('echo', { unit: 'C' });
  await agent.call('again');
  expect(model.requests[2]!.tools[0]!.parameters['properties']).not.toHaveProperty('unit');
  const results = model.requests[3]!.messages.flatMap(toolResultsOf).map(
    ({ output }) => JSON.parse(output as string) as unknown,
  );
  expect(results).toEqual([
    { city: 'a', key: 'k' },
    { city: 'b', key: 'k', unit: 'C' },
  ]);
  expect(toolkit.schemas()[0]!.parameters['properties']).toHaveProperty('unit');
});

test('updatePreset() adds a preset to a tool without one', () => {
  const toolkit = new Toolkit([echo()]);
  toolkit.updatePreset('echo', { key: 'k' });
  expect(toolkit.schemas()[0]!.parameters['properties']).not.toHaveProperty('key');
});

test.for([
  ['unknown', { nope: '1' }],
  ['nested', { 'city.name': '1' }],
  ['inherited', { toString: '1' }],
] as const)('rejects an %s preset argument', ([, preset]) => {
  const [name] = Object.keys(preset);
  expect(() => echo(preset)).toThrowError(failsWith('CONFIGURATION', `"${name}"`));
  const toolkit = new Toolkit([echo({ key: 'k' })]);
  expect(() => toolkit.updatePreset('echo', preset)).toThrowError(
    failsWith('CONFIGURATION', `"${name}"`),
  );
  expect(toolkit.schemas()[0]!.parameters['properties']).toHaveProperty('city');
});

test('updatePreset() rejects an unknown tool', () => {
  expect(() => new Toolkit().updatePreset('echo', {})).toThrowError(
    failsWith('INVALID_INPUT', '"echo"'),
  );
});

test.for([['text'], [[1]], [null]] as const)(
  'with a preset and plain JSON Schema, %j is rejected because it is not an object',
  async ([value]) => {
    const plain = tool({
      name: 'p',
      description: '',
      input: { type: 'object', properties: { key: { type: 'string' } } },
      preset: { key: 'k' },
    });
    expect(await plain.input.validate(value)).toMatchObject({ ok: false });
    expect(await plain.input.validate({ key: 'x', a: 1 })).toEqual({
      ok: true,
      value: { key: 'k', a: 1 },
    });
  },
);

test('with a preset and a Zod schema, arguments that are not an object are rejected', async () => {
  for (const value of ['text', null, []]) {
    expect(await echo({ key: 'k' }).input.validate(value)).toEqual({
      ok: false,
      issues: ['they are not an object'],
    });
  }
});
