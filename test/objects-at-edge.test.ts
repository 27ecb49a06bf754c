import { AgentError, MemoryStore, ReActAgent } from '@isoloop/core';
import { showFailuresAs, SseParser } from '@isoloop/core/adapter';
import { structured } from '@isoloop/core/output';
import { ScriptedModel, type ScriptedStep } from '@isoloop/core/testing';
import { createAgentHandler } from '@isoloop/edge';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import type { AnswerBatches } from '../packages/web-worker/src/react/chat/chat.ts';
import { answerObjects } from '../packages/web-worker/src/react/object/answer-objects.ts';
import type { UIMessageChunk } from '../packages/web-worker/src/react/chat/ui-message-chunk.ts';

// Endpoints hide secrets in the warnings of core, which other files read as they are.
afterAll(() => showFailuresAs((failure) => failure));

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

/** Returns the objects that a page gets from an endpoint, and what its request resolves with. */
async function objectsOf(replies: readonly ScriptedStep[], mode: 'tool' | 'prompt') {
  const model = new ScriptedModel(replies);
  const handler = createAgentHandler({
    store: new MemoryStore(),
    authorize: () => ({ user: 'u' }),
    agent: ({ memory, sessionId }) =>
      new ReActAgent({ name: 'a', model, memory, sessionId, use: [...structured(trip, { mode })] }),
  });
  const message = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'go' }] };
  const request = new Request('https://host/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 's', messages: [message], events: false }),
  });
  const response = await handler.fetch(request);
  const objects = answerObjects(batchesOf(response));
  const all: unknown[] = [];
  for (;;) {
    const { done, value } = await objects.next();
    if (done) return { all, value };
    all.push(value);
  }
}

async function* batchesOf({ body }: Response): AnswerBatches {
  const parser = new SseParser();
  for await (const bytes of body as unknown as AsyncIterable<Uint8Array>)
    yield parser
      .push(bytes)
      .filter(({ data }) => data !== '[DONE]')
      .map(({ data }) => JSON.parse(data) as UIMessageChunk);
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
