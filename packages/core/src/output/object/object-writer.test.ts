import { expect, test } from 'vitest';
import * as z from 'zod';
import {
  AgentError,
  ReActAgent,
  tool,
  type AgentEvent,
  type AgentOptions,
  type Middleware,
} from '@isoloop/core';
import { jsonMode, structured, yamlMode, type OutputMode } from '@isoloop/core/output';
import { ScriptedModel, type ScriptedReply, type ScriptedStep } from '@isoloop/core/testing';
import { parse } from 'yaml';
import { randomOf } from '@test/random-of.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { ObjectWriter } from './object-writer.ts';

const trip = z.object({ city: z.string(), days: z.number() });
const rome = { city: 'Rome', days: 2 };
const text = '{"city":"Rome","days":2}';

/** A reply whose text, or whose arguments of the output tool, arrive in the given pieces. */
const said = (...pieces: readonly string[]): ScriptedStep => ({
  deltas: pieces.map((delta) => [{ type: 'text', id: 't', delta }]),
});
const called = (...pieces: readonly string[]): ScriptedStep => ({
  deltas: pieces.map((delta, at) => [
    { type: 'tool-input', index: 0, delta, ...(!at && { id: 'c', name: 'generate_response' }) },
  ]),
});

/** Splits a text into pieces of one to `most` characters. */
function split(whole: string, random: () => number, most = 9): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < whole.length; at += pieces.at(-1)!.length)
    pieces.push(whole.slice(at, at + 1 + Math.floor(random() * most)));
  return pieces;
}

/** Returns what a reader gets, in pieces. */
async function writtenBy(
  replies: readonly ScriptedReply[],
  output: OutputMode | undefined,
  options: Partial<AgentOptions> = {},
): Promise<string[]> {
  const { agent } = scriptedAgent(replies, options);
  const writer = new ObjectWriter();
  const all: string[] = [];
  const stream = agent.stream('go', { throwOnError: false, ...(output && { output }) });
  for await (const batch of stream.batches()) all.push(writer.write(batch));
  return all;
}

test.for([
  ['arguments of the output tool', called, structured(trip)],
  ['text', said, structured(trip, { mode: 'prompt' })],
  ['JSON mode', said, jsonMode(trip)],
  ['text without an output mode', said, undefined],
] as const)('the text is only the object as it arrives in %s, without spaces', async (given) => {
  const [, reply, output] = given;
  const pieces = ['{\n  "city": "Ro', 'me",', '\n  "days": 2', '\n}'];
  const all = await writtenBy([reply(...pieces)], output);
  expect(all.filter(Boolean)).toEqual(['{"city":"Ro', 'me",', '"days":2', '}']);
});

test('the last character comes when the object is validated', async () => {
  const [wrong, right] = ['{"city":"Rome","days":"x"}', text];
  for (const [reply, output] of [
    [called, structured(trip)],
    [said, jsonMode(trip)],
  ] as const) {
    const all = (await writtenBy([reply(wrong), reply(right)], output)).join('');
    expect(all).toBe(`${wrong.slice(0, -1)}\u001e${right}`);
  }
});

test('prose and fences around the object, and replies before it, are left out', async () => {
  const lookUp = tool({
    name: 'look_up',
    description: 'Looks a word up',
    input: z.object({}),
    execute: () => '{"not": "it"}',
  });
  const looks: ScriptedReply = {
    text: 'I look it up.',
    toolCalls: [{ name: 'look_up', input: { x: 1 } }],
  };
  const fenced = said('See [below]:\n```json\n', text, '\n```\nIs {"this": 1} it?');
  const output = structured(trip, { mode: 'prompt' });
  const all = await writtenBy([looks, fenced], output, { tools: [lookUp] });
  expect(all.join('')).toBe(text);
});

test('lists, texts and numbers of the output tool come without their wrapper', async () => {
  for (const [value, schema, end] of [
    [[[1], [2, 3]], z.array(z.array(z.number())), ''],
    ['one "two"', z.string(), ''],
    [42, z.number(), ' '],
    [true, z.boolean(), ''],
    [{ response: 'yes', sure: true }, z.object({ response: z.string(), sure: z.boolean() }), ''],
    [{ responses: 1 }, z.object({ responses: z.number() }), ''],
  ] as const)
    for (const size of [1, 3, 100]) {
      const isWrapped = !Object.hasOwn(Object(value), 'responses');
      const given = JSON.stringify(isWrapped ? { response: value } : value, null, 1);
      const pieces = Array.from({ length: Math.ceil(given.length / size) }, (_, at) =>
        given.slice(at * size, (at + 1) * size),
      );
      const all = await writtenBy([called(...pieces)], structured(schema));
      expect(all.join('')).toBe(JSON.stringify(value) + end);
    }
});

test('a value that the schema changes, or another format, replaces what was sent', async () => {
  const schema = z.object({ city: z.string(), days: z.number().default(3) });
  const some = await writtenBy([called('{"city":"Rome"}')], structured(schema));
  expect(some.join('')).toBe('{"city":"Rome"\u001e{"city":"Rome","days":3}');
  const yaml = await writtenBy([said('city: Rome\n', 'days: 2\n')], yamlMode(trip, { parse }));
  expect(yaml.join('')).toBe(text);
});

test('an end that comes together with the answer is not sent again', async () => {
  const given = ['{"days": 2, "city": "R', '\\u00f6m"}'];
  for (const [reply, output] of [
    [called, structured(trip)],
    [said, jsonMode(trip)],
  ] as const) {
    const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([reply(...given)]) });
    const writer = new ObjectWriter();
    let all = '';
    const late: AgentEvent[] = [];
    for await (const batch of agent.stream('go', { output }).batches()) {
      if (all) late.push(...batch);
      else all = writer.write(batch);
    }
    expect(all + writer.write(late)).toBe('{"days":2,"city":"R\\u00f6m"}');
  }
});

test('fields in another order, and other escapes, are not sent again', async () => {
  const place = z.object({ city: z.string(), days: z.number() });
  const given = '{"days": 2, "city": "R\\u00f6m \\"1\\" \\\\"}';
  for (const [reply, output] of [
    [called, structured(place)],
    [said, jsonMode(place)],
  ] as const) {
    const all = await writtenBy([reply(...split(given, randomOf(1)))], output);
    expect(all.join('')).toBe('{"days":2,"city":"R\\u00f6m \\"1\\" \\\\"}');
  }
});

test('each piece is valid UTF-8, also if the network splits a character', async () => {
  const given = JSON.stringify({ city: 'a😀b😀', days: 1 });
  for (const size of [1, 2, 3]) {
    const pieces = given.match(new RegExp(`[^]{1,${size}}`, 'g'))!;
    const all = await writtenBy([said(...pieces)], jsonMode(trip));
    const bytes = all.map((piece) => new TextEncoder().encode(piece));
    const decoder = new TextDecoder('utf-8', { fatal: true });
    expect(bytes.map((each) => decoder.decode(each)).join('')).toBe(given);
  }
});

const refusal: Middleware = {
  name: 'refusal',
  on: { 'pre-call': ({ reject }) => reject('Not today.') },
};

test.for([
  ['invalid objects', [said('no'), said('no')], jsonMode(trip), {}, 'OUTPUT_INVALID'],
  ['a plain answer', ['Hello.'], undefined, {}, 'OUTPUT_INVALID'],
  [
    'a pending tool call',
    [{ toolCalls: [{ name: 'pay' }] }],
    structured(trip),
    { tools: [tool({ name: 'pay', description: 'Pays', input: z.object({}) })] },
    'PENDING_TOOL_CALLS',
  ],
  ['a refused input', [], structured(trip), { use: [refusal] }, 'HOOK_REJECTED'],
] satisfies readonly [
  string,
  readonly ScriptedReply[],
  OutputMode | undefined,
  Partial<AgentOptions>,
  string,
][])('after %s, the text ends with a failure', async ([, replies, output, options, code]) => {
  const all = (await writtenBy(replies, output, options)).join('');
  const [, failure] = all.split('\u0018');
  expect(JSON.parse(failure!)).toEqual({ code, message: expect.stringMatching(/.../) });
});

test('an interrupted object ends with ABORTED after what has arrived', async () => {
  const { agent } = scriptedAgent([{ ...said('{"city": "Ro'), hang: true }]);
  const writer = new ObjectWriter();
  let all = '';
  for await (const batch of agent.stream('go', { output: jsonMode(trip) }).batches()) {
    all += writer.write(batch);
    if (all) agent.interrupt();
  }
  const [shown, failure] = all.split('\u0018');
  expect(shown).toBe('{"city":"Ro');
  expect(JSON.parse(failure!)).toMatchObject({ code: 'ABORTED' });
});

test('a failure in the middle of an object comes once', async () => {
  const broken = { ...said('{"city": "Ro'), error: new AgentError('MODEL_SERVER', 'No.') };
  const all = await writtenBy([broken], jsonMode(trip));
  expect(all.join('')).toBe('{"city":"Ro\u0018{"code":"MODEL_SERVER","message":"No."}');
});

test('a random object arrives whole for each way in which the network splits it', async () => {
  const random = randomOf(7);
  const any = (depth: number): unknown => {
    const kind = Math.floor(random() * (depth ? 6 : 4));
    if (kind === 0) return Math.floor(random() * 1000) / 10 - 50;
    if (kind === 1) return [true, false, null][Math.floor(random() * 3)];
    if (kind < 4) return 'a"\\/{}[]:, \n\t😀é\u0007'.slice(0, Math.floor(random() * 19));
    const items = Array.from({ length: Math.floor(random() * 4) }, () => any(depth - 1));
    if (kind === 4) return items;
    return Object.fromEntries(items.map((item, at) => [`k${at}${any(0)}`, item]));
  };
  for (let count = 0; count < 150; count += 1) {
    const value = { response: any(3), more: any(3) };
    const given = JSON.stringify(value, null, Math.floor(random() * 3));
    const all = await writtenBy([said(...split(given, random))], jsonMode());
    expect(all.join('')).toBe(JSON.stringify(value));
  }
});

test('the final object of a long list costs no more than its text', async () => {
  const list = Array.from({ length: 2000 }, (_, id) => ({ id, name: `Number ${id}` }));
  const given = JSON.stringify({ response: list });
  const output = structured(z.array(z.object({ id: z.number(), name: z.string() })));
  const all = await writtenBy([called(...split(given, randomOf(3), 30))], output);
  expect(all.join('')).toBe(JSON.stringify(list));
  expect(rome).toEqual(JSON.parse(text));
});
