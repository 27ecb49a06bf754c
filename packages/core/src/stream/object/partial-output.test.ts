import { expect, expectTypeOf, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import { ReActAgent, tool, type ChatModel, type EventBatch } from '@isoloop/core';
import { jsonMode, structured, type OutputMode } from '@isoloop/core/output';
import {
  outputItems,
  partialOutput,
  type DeepPartial,
  type OutputSource,
} from '@isoloop/core/stream';
import { extendsIt } from '@test/support/extends-it.ts';
import { JsonReader } from './json-reader.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { createOpenAI } from '@ai-sdk/openai';
import { Output, streamText } from 'ai';
import { openai } from '@isoloop/core/openai';
import type { JsonValue } from '../../message/json.ts';
import { fetchOfPieces, recordedPieces } from '@test/support/recorded-pieces.ts';

const trip = z.object({
  city: z.string(),
  days: z.number(),
  stops: z.array(z.object({ name: z.string(), open: z.boolean() })),
});
const rome = { city: 'Rome', days: 2, stops: [{ name: 'Forum', open: true }] };

const lookUp = tool({
  name: 'look_up',
  description: 'Looks a word up',
  input: z.object({}),
  execute: () => '{"not": "the answer"}',
});

function agentOf(model: ChatModel): ReActAgent {
  return new ReActAgent({ name: 'a', model, tools: [lookUp] });
}

/** Splits a text into pieces, as a network does. */
function pieces(text: string, size = 5): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

/** A reply whose text arrives in pieces, one in each network read. */
const said = (text: string, size?: number): ScriptedReply => ({
  deltas: pieces(text, size).map((delta) => [{ type: 'text', id: 't', delta }]),
});

/** A reply that calls the output tool. Its arguments arrive in pieces. */
const called = (value: unknown, size?: number): ScriptedReply => ({
  deltas: pieces(JSON.stringify(value), size).map((delta, at) => [
    { type: 'tool-input', index: 0, delta, ...(!at && { id: 'c', name: 'generate_response' }) },
  ]),
});

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function shown<T>(
  replies: readonly ScriptedReply[],
  output: OutputMode<T>,
): Promise<(DeepPartial<T> | undefined)[]> {
  const stream = agentOf(new ScriptedModel(replies)).stream('go', { output });
  return allOf(partialOutput(stream));
}

test.for<[how: string, reply: ScriptedReply, output: OutputMode]>([
  ['arguments of the output tool', called(rome, 9), structured(trip)],
  ['text', said(JSON.stringify(rome), 9), structured(trip, { mode: 'prompt' })],
  ['JSON mode', said(JSON.stringify(rome), 9), jsonMode(trip)],
  ['JSON mode without a schema', said(JSON.stringify(rome), 9), jsonMode()],
])('the object grows while it arrives as %s', async ([, reply, output]) => {
  const all = await shown([reply], output);
  expect(all.at(-1)).toEqual(rome);
  for (const [index, each] of all.entries())
    expect([each, extendsIt(each, all[index - 1])]).toEqual([each, true]);
  expect(all).toContainEqual({ city: 'Rome', days: 2, stops: [{ name: 'Forum' }] });
  expect(all.length).toBeGreaterThan(5);
});

test('the objects have the type of a deep partial', async () => {
  const stream = agentOf(new ScriptedModel([called(rome)])).stream('go', {
    output: structured(trip),
  });
  for await (const each of partialOutput(stream)) {
    expectTypeOf(each?.city).toEqualTypeOf<string | undefined>();
    expectTypeOf(each?.stops?.[0]!.open).toEqualTypeOf<boolean | undefined>();
  }
  expectTypeOf<DeepPartial<unknown>>().toEqualTypeOf<unknown>();
});

test('text and code fences around the object are ignored', async () => {
  const text = `See [below] for {name}:\n\`\`\`json\n${JSON.stringify(rome)}\n\`\`\`\nIs {"this": 1} it?`;
  for (const size of [1, 4, 7, 1000]) {
    const all = await shown([said(text, size)], structured(trip, { mode: 'prompt' }));
    expect(all.at(-1)).toEqual(rome);
    expect(all.every((each) => each !== undefined && !('this' in each))).toBe(true);
  }
});

test('a correction shows that the object is gone, and then the new one', async () => {
  const wrong = { city: 'Oslo', days: 'two' };
  for (const [replies, output] of [
    [[called(wrong), called(rome)], structured(trip)],
    [[said(JSON.stringify(wrong)), said(JSON.stringify(rome))], jsonMode(trip)],
  ] as const) {
    const all = await shown(replies, output);
    const gone = all.indexOf(undefined);
    expect(all[gone - 1]).toEqual(wrong);
    expect(all.slice(gone + 1).some((each) => each?.city === 'Oslo')).toBe(false);
    expect(all.at(-1)).toEqual(rome);
    expect(all.filter((each) => each === undefined)).toHaveLength(1);
  }
});

test('JSON in the arguments and the results of other tools is not the object', async () => {
  const looks: ScriptedReply = { toolCalls: [{ name: 'look_up', input: { other: 1 } }] };
  const all = await shown([looks, called(rome)], structured(trip));
  expect(JSON.stringify(all)).not.toMatch(/other|answer/);
  expect(all.at(-1)).toEqual(rome);
});

test('lists, texts and objects with the wrapper’s name grow in the arguments of the tool', async () => {
  const lists = await shown(
    [called({ response: [[1], [2, 3]] })],
    structured(z.array(z.array(z.number()))),
  );
  expect(lists).toContainEqual([[1], [2]]);
  expect(lists.at(-1)).toEqual([[1], [2, 3]]);
  const texts = await shown([called({ response: 'one two' })], structured(z.string()));
  expect(texts).toContainEqual('on');
  expect(texts.at(-1)).toBe('one two');
  const named = z.object({ response: z.string(), sure: z.boolean() });
  const value = { response: 'yes', sure: true };
  const all = await shown([called({ response: value })], structured(named));
  expect(all[0]).toEqual({});
  expect(all.at(-1)).toEqual(value);
});

test('each batch yields at most one object', async () => {
  const text = JSON.stringify(rome);
  const deltas = [text.slice(0, 30), text.slice(30)].map((half) =>
    Array.from(half, (delta) => ({ type: 'text', id: 't', delta }) as const),
  );
  const all = await shown([{ deltas }], jsonMode(trip));
  // The two halves, and the validated object.
  expect(all).toHaveLength(3);
});

test('the last object is the validated output, with what the schema changes', async () => {
  const schema = z.object({
    day: z.string().transform((day) => new Date(day)),
    n: z.number().default(3),
  });
  const all = await shown([called({ day: '2027-01-02' })], structured(schema));
  expect(all).toContainEqual({ day: '2027-01-02' });
  expect(all.at(-1)).toEqual({ day: new Date('2027-01-02'), n: 3 });
});

test('a run that fails rejects, and a run that stops keeps the incomplete object', async () => {
  const fails = (options: object) =>
    allOf(
      partialOutput(
        agentOf(new ScriptedModel([said('{"city": "Os'), said('no')])).stream('go', {
          output: jsonMode(trip),
          ...options,
        }),
      ),
    );
  await expect(fails({})).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
  await expect(fails({ throwOnError: false })).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
  const agent = agentOf(new ScriptedModel([{ text: '{"city": "Os', hang: true }]));
  const all: unknown[] = [];
  for await (const each of partialOutput(agent.stream('go', { output: jsonMode(trip) }))) {
    all.push(each);
    if (each?.city) agent.interrupt('stop');
  }
  expect(all.at(-1)).toEqual({ city: 'Os' });
});

test('it needs a stream', async () => {
  await expect(partialOutput({} as never).next()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('items of a list are yielded when they are complete', async () => {
  const item = z.object({
    name: z.string().min(2),
    on: z.iso.date().transform((day) => new Date(day)),
  });
  const list = [
    { name: 'one', on: '2027-01-01' },
    { name: 'two', on: '2027-01-02' },
  ];
  const model = new ScriptedModel([called({ response: list }, 3)]);
  const stream = agentOf(model).stream('go', { output: structured(z.array(item)) });
  const items: unknown[] = [];
  const seen: number[] = [];
  for await (const each of outputItems(stream, item)) {
    expectTypeOf(each.on).toEqualTypeOf<Date>();
    items.push(each);
    seen.push(model.reads);
  }
  expect(items).toEqual(list.map(({ name, on }) => ({ name, on: new Date(on) })));
  expect(seen[0]).toBeLessThan(model.reads - 8);
});

test('an item that does not fit waits, and items after a correction are not repeated', async () => {
  const item = z.object({ n: z.number() });
  const wrong = { response: [{ n: 1 }, { n: 'two' }, { n: 3 }] };
  const right = { response: [{ n: 1 }, { n: 2 }, { n: 3 }] };
  const run = (replies: readonly ScriptedReply[]) =>
    agentOf(new ScriptedModel(replies)).stream('go', { output: structured(z.array(item)) });
  const valid = await allOf(outputItems(run([called(wrong), called(right)]), item));
  expect(valid).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  const plain = await allOf(outputItems(run([called(wrong), called(right)])));
  expect(plain).toEqual([{ n: 1 }, { n: 'two' }, { n: 3 }]);
});

test('the work grows with the length of the reply, also of a long list in single characters', async () => {
  const workOf = async (length: number) => {
    const push = vi.spyOn(JsonReader.prototype, 'push');
    onTestFinished(() => push.mockRestore());
    const list = Array.from({ length }, (_, index) => ({ id: index, text: `Number ${index}.` }));
    const text = `${JSON.stringify({ list }, null, 2)}`;
    const batches = Array.from(text, (delta) => [
      { type: 'reasoning-chunk', kind: 'text', blockId: 'm:0', delta, agentPath: [] },
    ]);
    const stream = { batches: () => batches as unknown as AsyncIterable<EventBatch> };
    let copies = 0;
    let last: unknown;
    for await (const each of partialOutput(stream as unknown as OutputSource<{ list: object[] }>)) {
      copies += each?.list?.length ?? 0;
      last = each;
    }
    expect(last).toEqual({ list });
    const read = push.mock.calls.reduce((sum, [piece]) => sum + piece.length, 0);
    push.mockRestore();
    return { read: read / text.length, copies: copies / text.length };
  };
  for (const length of [100, 1000, 10_000]) {
    const { read, copies } = await workOf(length);
    expect([length, read]).toEqual([length, 1]);
    expect(copies).toBeLessThan(65);
  }
});

const object = z.looseObject({});

async function grown(objects: AsyncIterable<unknown>): Promise<string[]> {
  const all: string[] = [];
  for await (const each of objects) {
    const json = JSON.stringify(each);
    if (json !== all.at(-1)) all.push(json);
  }
  return all;
}

test.for(recordedPieces())('the object of %s grows as that of AI SDK', async ([, recorded]) => {
  const value = JSON.parse(recorded.join('')) as JsonValue;
  const common = { apiKey: 'k', baseURL: 'https://host/v1', fetch: fetchOfPieces(recorded) };
  const model = openai({ ...common, model: 'm' });
  const agent = new ReActAgent({ name: 'a', model });
  const ours = await grown(partialOutput(agent.stream('go', { output: jsonMode(object) })));
  const theirs = await grown(
    streamText({
      model: createOpenAI(common).chat('m'),
      prompt: 'go',
      output: Output.object({ schema: object }),
    }).partialOutputStream,
  );
  expect(ours).toEqual(theirs);
  expect(JSON.parse(ours.at(-1)!)).toEqual(value);
});

test('some recorded objects arrive in many pieces', () => {
  const counts = recordedPieces().map(([, recorded]) => recorded.length);
  expect(counts.filter((count) => count > 8).length).toBeGreaterThan(1);
});
