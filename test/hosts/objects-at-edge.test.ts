import { createOpenAI } from '@ai-sdk/openai';
import {
  AgentError,
  MemoryStore,
  ReActAgent,
  tool,
  type AgentOptions,
  type ChatModel,
  type Middleware,
} from '@isoloop/core';
import { objectMediaType, structured, type OutputMode } from '@isoloop/core/output';
import { openai } from '@isoloop/core/openai';
import { ScriptedModel, type ScriptedStep } from '@isoloop/core/testing';
import { createAgentHandler } from '@isoloop/edge';
import { storeSessions } from '@isoloop/edge/store';
import { createTextStreamResponse, Output, streamText, toTextStream } from 'ai';
import { expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import { fetchOfPieces, recordedPieces } from '../support/recorded-pieces.ts';
import { objectsIn } from '@isoloop/core/stream';

const trip = z.object({ city: z.string(), days: z.number() });
const rome = { city: 'Rome', days: 3 };

const said = (value: unknown): ScriptedStep => ({
  deltas: Array.from(JSON.stringify(value), (delta) => [{ type: 'text', id: 't', delta }]),
});
const called = (value: unknown): ScriptedStep => ({
  deltas: Array.from(JSON.stringify(value), (delta, index) => [
    { type: 'tool-input', index: 0, delta, ...(!index && { id: 'c', name: 'generate_response' }) },
  ]),
});

/** Asks an endpoint for an object. */
async function answerOf(
  model: ChatModel,
  output: OutputMode,
  options: Partial<AgentOptions> = {},
): Promise<Response> {
  const handler = createAgentHandler({
    store: storeSessions(new MemoryStore()),
    authorize: () => ({ user: 'u' }),
    agent: ({ memory, sessionId }) =>
      new ReActAgent({ name: 'a', model, memory, sessionId, ...options, use: [...output] }),
  });
  const message = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'go' }] };
  const request = new Request('https://host/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: objectMediaType },
    body: JSON.stringify({ id: 's', messages: [message] }),
  });
  return handler.fetch(request);
}

/** Returns the objects that a page gets from an endpoint, and what its request resolves with. */
async function objectsOf(replies: readonly ScriptedStep[], mode: 'tool' | 'prompt') {
  const response = await answerOf(new ScriptedModel(replies), structured(trip, { mode }));
  return allOf(objectsIn(response.body!));
}

async function allOf(objects: AsyncGenerator<unknown, unknown>) {
  const all: unknown[] = [];
  for (;;) {
    const { done, value } = await objects.next();
    if (done) return { all, value };
    all.push(value);
  }
}

test.for([
  ['tool', called],
  ['prompt', said],
] as const)(
  'a page gets an object of an endpoint while it grows (mode %s)',
  async ([mode, reply]) => {
    const { all, value } = await objectsOf([reply(rome)], mode);
    // Which of its beginnings are shown depends on how the network cuts the stream.
    const beginnings = all.flatMap((each) => (each as Partial<typeof rome>).city ?? []);
    expect(beginnings.every((city) => rome.city.startsWith(city))).toBe(true);
    expect(beginnings.some((city) => city.length < rome.city.length)).toBe(true);
    expect(all.at(-1)).toEqual(rome);
    expect(value).toEqual(rome);
    // The endpoint repeats the finished object, which the page shows once.
    expect(all.filter((each) => JSON.stringify(each) === JSON.stringify(rome))).toHaveLength(1);
  },
);

test.for([
  ['tool', called],
  ['prompt', said],
] as const)('a correction at an endpoint removes the object (mode %s)', async ([mode, reply]) => {
  const wrong = { city: 'Oslo', days: 'two' };
  const { all, value } = await objectsOf([reply(wrong), reply(rome)], mode);
  const gone = all.indexOf(undefined);
  expect(all[gone - 1]).toEqual(wrong);
  expect(JSON.stringify(all.slice(gone))).not.toContain('Oslo');
  expect(value).toEqual(rome);
});

test('a failure at an endpoint rejects with its code', async () => {
  const logged = vi.spyOn(console, 'error').mockReturnValue();
  onTestFinished(() => logged.mockRestore());
  const fails = { ...said({ city: 'Rome' }), error: new AgentError('MODEL_AUTH', 'No key.') };
  await expect(objectsOf([fails], 'prompt')).rejects.toMatchObject({ code: 'MODEL_AUTH' });
});

/** Returns the different objects, as JSON. */
function grown(all: readonly unknown[]): readonly string[] {
  const texts = all.map((each) => JSON.stringify(each));
  return texts.filter((text, index) => text !== texts[index - 1]);
}

test.for(recordedPieces())(
  'at an endpoint, the object of %s grows as that of AI SDK, in at most its bytes',
  async ([, pieces]) => {
    const object = z.looseObject({});
    const common = { apiKey: 'k', baseURL: 'https://host/v1' };
    const theirs = () =>
      streamText({
        model: createOpenAI({ ...common, fetch: fetchOfPieces(pieces) }).chat('m'),
        prompt: 'go',
        output: Output.object({ schema: object }),
      });
    const model = openai({ ...common, fetch: fetchOfPieces(pieces), model: 'm' });
    const response = await answerOf(model, structured(object, { mode: 'prompt' }));
    const [body, counted] = response.body!.tee();
    const [{ all, value }, { byteLength }] = await Promise.all([
      allOf(objectsIn(body)),
      new Response(counted).arrayBuffer(),
    ]);
    expect(value).toEqual(JSON.parse(pieces.join('')));
    const shown: unknown[] = [];
    for await (const each of theirs().partialOutputStream) shown.push(each);
    expect(grown(all)).toEqual(grown(shown));
    const text = createTextStreamResponse({ stream: toTextStream({ stream: theirs().stream }) });
    expect(byteLength).toBeLessThanOrEqual((await text.arrayBuffer()).byteLength);
  },
);

test('an agent without an output mode is refused', async () => {
  const logged = vi.spyOn(console, 'error').mockReturnValue();
  onTestFinished(() => logged.mockRestore());
  const response = await answerOf(new ScriptedModel(['Hello.']), []);
  expect([response.status, await response.json()]).toMatchObject([
    500,
    { error: { code: 'CONFIGURATION' } },
  ]);
  expect(String(logged.mock.calls)).toContain('Add ...structured(schema) to its `use`');
});

test('a refused input and a pending call end an object with their codes', async () => {
  const no: Middleware = {
    name: 'no',
    on: { 'pre-call': ({ reject }) => reject('Not today.') },
  };
  const refused = await answerOf(new ScriptedModel([]), [...structured(trip), no]);
  await expect(allOf(objectsIn(refused.body!))).rejects.toMatchObject({
    code: 'HOOK_REJECTED',
    message: 'Not today.',
  });
  const pay = tool({ name: 'pay', description: 'Pays', input: z.object({}) });
  const pays = new ScriptedModel([{ toolCalls: [{ name: 'pay' }] }]);
  const pending = await answerOf(pays, structured(trip), { tools: [pay] });
  await expect(allOf(objectsIn(pending.body!))).rejects.toMatchObject({
    code: 'PENDING_TOOL_CALLS',
  });
});
