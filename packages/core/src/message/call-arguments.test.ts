import { expect, test } from 'vitest';
import { z } from 'zod';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { argumentsIn, longIntegersIn } from './call-arguments.ts';
import type { JsonObject } from './json.ts';
import { toolResultsOf, toolUsesOf } from './msg.ts';
import { textToolCalls } from '../text-protocol/text-tool-calls.ts';
import type { SchemaLike } from '../schema/schema.ts';
import { typeAt } from '../schema/type-at.ts';
import { tool } from '../tool/tool.ts';

const id = '2512292042121000001';

/** Returns what the tool got, the result for the model, and the stored call. */
async function outcomeOf(input: SchemaLike, raw: string) {
  const inputs: unknown[] = [];
  const find = tool({
    name: 'find',
    description: '',
    input,
    execute: (given) => void inputs.push(given),
  });
  const deltas = [
    { type: 'tool-input', index: 0, id: 'c', name: 'find', delta: raw },
    { type: 'finish', reason: 'tool_calls' },
  ] as const;
  const { agent, model } = scriptedAgent([{ deltas: [deltas] }, 'done'], { tools: [find] });
  await agent.call('Go');
  const [result] = (await agent.messages()).flatMap(toolResultsOf);
  const [call] = model.requests[1]!.messages.flatMap(toolUsesOf);
  return { inputs, output: result!.output, call };
}

test.each<readonly [string, SchemaLike]>([
  ['a string', z.object({ id: z.string() })],
  ['a string or a number', z.object({ id: z.union([z.number(), z.string()]) })],
  ['any value', z.object({ id: z.unknown() })],
  ['a string, unchecked', { type: 'object', properties: { id: { type: ['string', 'null'] } } }],
  ['nothing', { type: 'object' }],
  [
    'a string in a definition',
    {
      type: 'object',
      properties: { id: { anyOf: [{ $ref: '#/$defs/Id' }, { type: 'null' }] } },
      $defs: { Id: { type: 'string' } },
    },
  ],
])('a tool gets all digits of a long integer if its schema says %s', async (_name, input) => {
  const { inputs, call } = await outcomeOf(input, `{"id": ${id}}`);
  expect(inputs).toEqual([{ id }]);
  expect(call).toMatchObject({ input: { id }, raw: `{"id": ${id}}` });
});

test.each<readonly [string, SchemaLike]>([
  ['a number', z.object({ ids: z.array(z.number()) })],
  [
    'an integer, unchecked',
    { type: 'object', properties: { ids: { items: { type: 'integer' } } } },
  ],
])('a tool does not run with a rounded integer if its schema says %s', async (_name, input) => {
  const { inputs, output, call } = await outcomeOf(input, `{"ids":[1,${id}]}`);
  expect(inputs).toEqual([]);
  expect(output).toBe(
    [
      'Error: The arguments of "find" do not fit its schema:',
      `- ids.1: ${id} would be rounded, numbers are exact up to 9007199254740991. Give its digits as a string`,
      'Correct them.',
    ].join('\n'),
  );
  expect(call!.raw).toBe(`{"ids":[1,${id}]}`);
});

test('calls in text keep the digits, too', async () => {
  const inputs: unknown[] = [];
  const find = tool({
    name: 'find',
    description: '',
    input: z.object({ id: z.string() }),
    execute: (given) => void inputs.push(given),
  });
  const { agent } = scriptedAgent([`{"tool_name":"find","arguments":{"id":${id}}}`, 'done'], {
    tools: [find],
    use: [textToolCalls()],
  });
  await agent.call('Go');
  expect(inputs).toEqual([{ id }]);
});

test.each<readonly [string, unknown]>([
  [id, id],
  [`-${id}`, `-${id}`],
  ['100000000000000000000000', '100000000000000000000000'],
  ['9007199254740993', '9007199254740993'],
  // The nearest number has these digits.
  ['9007199254740992', 9_007_199_254_740_992],
  ['1000000000000000000', 1e18],
  ['0.12345678901234567890', 0.123_456_789_012_345_68],
  ['1234567890123456789.5', 1_234_567_890_123_456_800],
  ['1e30', 1e30],
  [`"${id}"`, id],
  [`"\\"${id}"`, `"${id}`],
  [`{"${id}":[${id}]}`, { [id]: [id] }],
])('the JSON %s is read without a change of digits', (text, value) => {
  expect(argumentsIn(text).input).toEqual(value);
});

test.each([`{${id}:1}`, `[0${id}]`, `{"a":${id}`])('%s is still no JSON', (raw) => {
  expect(argumentsIn(raw)).toEqual({ input: null, raw });
});

test('`raw` is kept if it says more than the value', () => {
  expect(argumentsIn('')).toEqual({ input: {} });
  expect(argumentsIn('{"a":1}')).toEqual({ input: { a: 1 } });
  expect(argumentsIn('{"a": 1}')).toEqual({ input: { a: 1 }, raw: '{"a": 1}' });
});

test('integers that a hook has replaced do not count', () => {
  const call = { type: 'tool_use', id: 'c', name: 'f', raw: `{"a":${id}}` } as const;
  expect(longIntegersIn({ ...call, input: { a: id } })).toEqual([{ path: ['a'], digits: id }]);
  expect(longIntegersIn({ ...call, input: { a: 7 } })).toEqual([]);
});

test.each<readonly [type: unknown, path: readonly string[]]>([
  ['integer', ['a']],
  ['string', ['list', '1']],
  ['number', ['map', 'any']],
  [undefined, ['union']],
  [undefined, ['missing', 'deeper']],
  ['object', []],
])('the type is %s at %j', (type, path) => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      a: { type: 'integer' },
      list: { type: 'array', items: { type: 'string' } },
      map: { type: 'object', additionalProperties: { type: 'number' } },
      union: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    },
  };
  expect(typeAt(schema, path)).toBe(type);
});
