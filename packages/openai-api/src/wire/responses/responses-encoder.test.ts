import { createOpenAI } from '@ai-sdk/openai';
import OpenAI from 'openai';
import { expect, expectTypeOf, test } from 'vitest';
import {
  AgentError,
  ReActAgent,
  tool,
  type AgentOptions,
  type CallOptions,
  type Middleware,
} from '@isoloop/core';
import type { Hook } from '@isoloop/core/event';
import { jsonMode } from '@isoloop/core/output';
import { echo } from '../../../../edge/test-support/plain-tools.ts';
import { createResponsesEncoder, type ResponsesEncoderOptions } from './responses-encoder.ts';
import { toResponse } from './finished-response.ts';
import type { ResponseErrorEvent, ResponseEvent } from './response-event.ts';
import type { ResponseItem, ResponseObject } from './response-object.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';

const about = { model: 'm', id: 'resp_1', created: 1_770_000_000, reasoning: true };
const place = tool({ name: 'place', description: 'Where', input: { type: 'object' } });

interface Asked {
  readonly agent?: Partial<AgentOptions>;
  readonly call?: CallOptions;
  readonly encoder?: Partial<ResponsesEncoderOptions>;
}

async function answer(replies: readonly ScriptedReply[], { agent, call, encoder }: Asked = {}) {
  const model = new ScriptedModel(replies);
  const asked = new ReActAgent({ name: 'a', model, tools: [echo, place], ...agent });
  const options = { ...about, isExternal: (name: string) => name === 'place', ...encoder };
  const { encode } = createResponsesEncoder(options);
  const stream = asked.stream('go', { throwOnError: false, ...call });
  const events: ResponseEvent[] = [];
  for await (const batch of stream.batches()) events.push(...encode(batch));
  return { events, whole: toResponse(await stream.result, options) };
}

const serve = (events: readonly ResponseEvent[]) => async (): Promise<Response> =>
  new Response(
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
    { headers: { 'content-type': 'text/event-stream' } },
  );

/** Reads the events with the accumulator of the `openai` package. */
async function readWithOpenAi(
  events: readonly ResponseEvent[],
): Promise<OpenAI.Responses.Response> {
  const client = new OpenAI({
    apiKey: 'k',
    fetch: serve(events),
    maxRetries: 0,
    dangerouslyAllowBrowser: true,
  });
  return client.responses.stream({ model: 'm', input: 'go' }).finalResponse();
}

/** Reads the events with AI SDK's model for the Responses API. */
async function readWithAiSdk(events: readonly ResponseEvent[]) {
  const { stream } = await createOpenAI({ apiKey: 'k', fetch: serve(events) })
    .responses('m')
    .doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }] });
  const parts = [];
  const reader = stream.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    parts.push(read.value);
  return parts;
}

const finalOf = (events: readonly ResponseEvent[]): ResponseObject => {
  const last = events.at(-1)!;
  if (!('response' in last)) throw new Error(`The stream ends with ${last.type}.`);
  return last.response;
};
const messagesOf = ({ output }: Pick<ResponseObject, 'output'>) =>
  output.flatMap((item) =>
    item.type === 'message' ? [item.content.map(({ text }) => text).join('|')] : [],
  );
const typesOf = (items: readonly { readonly type: string }[]) => items.map(({ type }) => type);

test('an answer is a message with numbered events from created to completed', async () => {
  const { events, whole } = await answer([{ thinking: 'hm', text: 'Hello you.' }]);
  expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
  expect([...new Set(typesOf(events))]).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.reasoning_summary_part.added',
    'response.reasoning_summary_text.delta',
    'response.reasoning_summary_text.done',
    'response.reasoning_summary_part.done',
    'response.output_item.done',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.completed',
  ]);
  expect(finalOf(events)).toEqual(whole);
  expect(whole).toMatchObject({
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        phase: 'final_answer',
        content: [{ type: 'output_text', text: 'Hello you.', annotations: [] }],
      },
    ],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  });
  const read = await readWithOpenAi(events);
  expect(read.output_text).toBe('Hello you.');
  expect(read.output).toMatchObject(whole.output);
});

test('AI SDK reads text, reasoning, usage and the finish reason', async () => {
  const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, reasoningTokens: 3 };
  const { events } = await answer([[{ thinking: 'hm', text: 'Hello you.', usage }]]);
  const parts = await readWithAiSdk(events);
  const deltas = (type: string) =>
    parts.map((part) => (part.type === type && 'delta' in part ? part.delta : '')).join('');
  expect([deltas('reasoning-delta'), deltas('text-delta')]).toEqual(['hm', 'Hello you.']);
  expect(typesOf(parts)).toContain('reasoning-end');
  expect(parts.at(-1)).toMatchObject({
    type: 'finish',
    finishReason: { unified: 'stop' },
    usage: {
      inputTokens: { total: 10, cacheRead: 4 },
      outputTokens: { total: 5, reasoning: 3 },
    },
  });
});

test('thinking is left out unless summaries are requested', async () => {
  const { events, whole } = await answer([{ thinking: 'hm', text: 'Hi.' }], {
    encoder: { reasoning: false },
  });
  expect(typesOf(whole.output)).toEqual(['message']);
  expect(JSON.stringify(events)).not.toContain('hm');
});

test("each reply is a message, and the agent's own tools are hidden", async () => {
  const { events } = await answer([
    { text: 'Let me see.', toolCalls: [{ name: 'echo' }] },
    'Done.',
  ]);
  const { output } = finalOf(events);
  expect(output).toMatchObject([
    { phase: 'commentary', content: [{ text: 'Let me see.' }] },
    { phase: 'final_answer', content: [{ text: 'Done.' }] },
  ]);
  expect(JSON.stringify(events)).not.toContain('echo');
  expect((await readWithOpenAi(events)).output).toMatchObject(output);
});

test("calls of the client's tools are function calls, streamed or whole", async () => {
  const replies: ScriptedReply[] = [
    {
      text: 'Let me see.',
      toolCalls: [
        { id: 'c1', name: 'place', input: { at: '서울' } },
        { id: 'c2', name: 'echo' },
        { id: 'c3', name: 'place', input: {} },
      ],
    },
  ];
  const { events, whole } = await answer(replies);
  const expected = [
    { type: 'message', phase: 'commentary' },
    { type: 'function_call', call_id: 'c1', name: 'place', arguments: '{"at":"서울"}' },
    { type: 'function_call', call_id: 'c3', name: 'place', arguments: '{}' },
  ];
  expect(whole.output).toMatchObject(expected);
  expect(finalOf(events).output).toMatchObject(expected);
  expect((await readWithOpenAi(events)).output).toMatchObject(expected);
  const parts = await readWithAiSdk(events);
  expect(parts.filter(({ type }) => type === 'tool-call')).toMatchObject([
    { toolCallId: 'c1', toolName: 'place', input: '{"at":"서울"}' },
    { toolCallId: 'c3', toolName: 'place', input: '{}' },
  ]);
  expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'tool-calls' } });
  // Without `isExternal`, calls come as a whole.
  const late = await answer(replies, { encoder: { isExternal: () => false } });
  expect(finalOf(late.events).output).toMatchObject(expected);
  expect((await readWithOpenAi(late.events)).output).toMatchObject(expected);
});

test.for(['', ' '])('a call with the arguments %j has an empty object', async (delta) => {
  const { events } = await answer([
    [
      {
        deltas: [
          [{ type: 'tool-input', index: 0, id: 'c1', name: 'place', delta }],
          [{ type: 'finish', reason: 'tool_calls' }],
        ],
      },
    ],
  ]);
  expect((await readWithOpenAi(events)).output).toMatchObject([{ arguments: `${delta}{}` }]);
  const parts = await readWithAiSdk(events);
  expect(parts.find(({ type }) => type === 'tool-call')).toMatchObject({ input: `${delta}{}` });
});

test('a call that is sent and then rejected becomes an error, and no reader gets the call', async () => {
  const refuse: Hook = { on: { 'pre-acting': ({ reject }) => reject('No.') } };
  const { events } = await answer(
    [{ toolCalls: [{ name: 'place', input: { a: 1 } }] }, 'Then not.'],
    {
      agent: { use: [refuse] },
    },
  );
  expect(typesOf(events.slice(-2))).toEqual(['error', 'response.failed']);
  expect(events.at(-2)).toMatchObject({ error: { code: 'MODEL_BAD_RESPONSE' } });
  await expect(readWithOpenAi(events)).rejects.toMatchObject({ code: 'MODEL_BAD_RESPONSE' });
  expect(typesOf(await readWithAiSdk(events))).not.toContain('tool-call');
});

test('a failure in the middle of a stream is an error event and a failed response', async () => {
  const { events } = await answer([
    { text: 'half', error: new AgentError('MODEL_SERVER', 'It broke.') },
  ]);
  expect(events.at(-2)).toMatchObject({
    type: 'error',
    code: 'MODEL_SERVER',
    message: 'It broke.',
    error: { type: 'api_error', code: 'MODEL_SERVER', message: 'It broke.', param: null },
  });
  expect(events.at(-1)).toMatchObject({
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'MODEL_SERVER', message: 'It broke.' } },
  });
  await expect(readWithOpenAi(events)).rejects.toMatchObject({
    code: 'MODEL_SERVER',
    type: 'api_error',
  });
  const parts = await readWithAiSdk(events);
  expect(typesOf(parts)).toContain('error');
  expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'error' } });
});

const finish = (reason: string) =>
  [[{ type: 'text', id: 't', delta: 'Hel' }], [{ type: 'finish', reason }]] as const;

test('an answer that reaches the token limit is incomplete', async () => {
  const { events, whole } = await answer([[{ deltas: finish('length') }]]);
  expect(whole).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [{ status: 'incomplete' }],
  });
  expect(finalOf(events)).toEqual(whole);
  expect((await readWithOpenAi(events)).status).toBe('incomplete');
  expect((await readWithAiSdk(events)).at(-1)).toMatchObject({
    finishReason: { unified: 'length' },
  });
});

test('a discarded reply ends as incomplete and is not in the finished response', async () => {
  const change: Hook = {
    on: {
      'post-reasoning': (event) => ({
        ...event,
        message: { ...event.message, content: [{ type: 'text', text: 'Better.' }] },
      }),
    },
  };
  const { events, whole } = await answer(['Bad.'], { agent: { use: [change] } });
  expect(messagesOf(whole)).toEqual(['Better.']);
  expect(messagesOf(finalOf(events))).toEqual(['Better.']);
  const done = events.filter(({ type }) => type === 'response.output_item.done');
  expect(done).toMatchObject([
    { item: { status: 'incomplete' } },
    { item: { status: 'completed' } },
  ]);
  expect((await readWithOpenAi(events)).output_text).toBe('Better.');
});

const half = [
  {
    deltas: [
      [{ type: 'thinking', id: 'r', delta: 'hm' }],
      [{ type: 'text', id: 'a', delta: 'Hel' }],
      [{ type: 'text', id: 'b', delta: 'lo' }],
      [{ type: 'finish', reason: 'stop' }],
    ],
  },
] as const;

test.for(['interrupt', 'abort', 'failing guard', 'replacement', 'other result'] as const)(
  'each finished text is what its deltas said: %s',
  async (what) => {
    const controller = new AbortController();
    const use: Middleware = {
      on: {
        'reasoning-chunk': ({ delta }) => {
          if (delta !== 'lo') return;
          if (what === 'interrupt') agent.interrupt();
          if (what === 'abort') controller.abort();
        },
        'post-reasoning': (event) => {
          if (what === 'failing guard') throw new AgentError('GUARD_REJECTED', 'No.');
          if (what !== 'replacement') return undefined;
          const content = [{ type: 'text', text: 'lo' } as const];
          return { ...event, message: { ...event.message, content } };
        },
      },
      wrapRun: async (input, next) => {
        const result = await next(input);
        const content = [{ type: 'text', text: 'lo' } as const];
        if (what !== 'other result') return result;
        return { ...result, text: 'lo', message: { ...result.message, content } };
      },
    };
    const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([half]), use: [use] });
    const stream = agent.stream('go', { signal: controller.signal });
    const { encode } = createResponsesEncoder(about);
    const events: ResponseEvent[] = [];
    for await (const batch of stream.batches()) events.push(...encode(batch));
    const told = new Map<string, string>();
    for (const event of events) {
      if (!('content_index' in event)) continue;
      const part = `${event.item_id} ${event.content_index}`;
      if (event.type === 'response.output_text.delta')
        told.set(part, (told.get(part) ?? '') + event.delta);
      if (event.type === 'response.output_text.done') expect(event.text).toBe(told.get(part) ?? '');
    }
    const final = finalOf(events);
    expect(messagesOf(final)).toEqual(
      {
        interrupt: ['Hel|lo', 'You interrupted me. What now?'],
        abort: ['Hel|lo'],
        'failing guard': ['No.'],
        replacement: ['lo'],
        'other result': ['Hel|lo', 'lo'],
      }[what],
    );
    expect((await readWithOpenAi(events)).output).toMatchObject(final.output);
    const whole = toResponse(await stream.result, about);
    expect(messagesOf(final).at(-1)).toBe(messagesOf(whole).at(-1));
  },
);

test('a reply that begins again replaces the text of the first attempt', async () => {
  const { events } = await answer([
    [
      {
        deltas: [
          [{ type: 'text', id: 'a', delta: 'The beg' }],
          [{ type: 'reset', reason: 'retry' }],
          [{ type: 'text', id: 'b', delta: 'The beginning.' }],
          [{ type: 'finish', reason: 'stop' }],
        ],
      },
    ],
  ]);
  expect(messagesOf(finalOf(events))).toEqual(['The beginning.']);
  expect((await readWithOpenAi(events)).output_text).toBe('The beginning.');
});

const page = (url: string, title?: string) =>
  ({ type: 'url', url, ...(title && { title }) }) as const;
const cited = [
  page('https://a.example', 'A'),
  page('https://b.example'),
  page('https://a.example'),
];
const cites = (sources: readonly object[]): ScriptedReply => [
  {
    deltas: [
      [{ type: 'text', id: 'a', delta: 'One.' }],
      [{ type: 'text', id: 'b', delta: 'Two.' }],
      [{ type: 'text', id: 'b', delta: '', providerMetadata: { sources: sources as never } }],
      [{ type: 'finish', reason: 'stop' }],
    ],
  },
];
const citation = (url: string, title: string) =>
  ({ type: 'url_citation', url, title, start_index: 4, end_index: 4 }) as const;

test('cited pages are annotations of the text, streamed or whole, and each page has one', async () => {
  const document = { type: 'document', title: 'Book', mediaType: 'text/plain' };
  const { events, whole } = await answer([cites([...cited, document])]);
  const annotations = [
    citation('https://a.example', 'A'),
    citation('https://b.example', 'https://b.example'),
  ];
  const content = [
    { text: 'One.', annotations: [] },
    { text: 'Two.', annotations },
  ];
  expect(whole.output).toMatchObject([{ content }]);
  expect(finalOf(events).output).toEqual(whole.output);
  const added = events.filter(({ type }) => type === 'response.output_text.annotation.added');
  expect(added).toMatchObject(
    annotations.map((annotation, index) => ({
      annotation,
      annotation_index: index,
      content_index: 1,
      output_index: 0,
    })),
  );
  expect((await readWithOpenAi(events)).output).toMatchObject([{ content }]);
  const sources = (await readWithAiSdk(events)).filter(({ type }) => type === 'source');
  expect(sources).toMatchObject([
    { sourceType: 'url', url: 'https://a.example', title: 'A' },
    { sourceType: 'url', url: 'https://b.example' },
  ]);
});

test('with `sendsWholeText`, the text of failed attempts is not sent', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
  } as const;
  const { events, whole } = await answer(['Not JSON', '{"n":1}'], {
    call: { output: jsonMode(schema) },
    encoder: { sendsWholeText: true },
  });
  expect(messagesOf(whole)).toEqual(['{"n":1}']);
  expect(finalOf(events).output).toEqual(whole.output);
  expect(JSON.stringify(events)).not.toContain('Not JSON');
  expect((await readWithOpenAi(events)).output_text).toBe('{"n":1}');
});

test('an empty answer is a message without text', async () => {
  const { events, whole } = await answer([{ text: '' }]);
  expect(messagesOf(whole)).toEqual(['']);
  expect(finalOf(events).output).toEqual(whole.output);
  expect((await readWithOpenAi(events)).output_text).toBe('');
});

test('an error before the run is an error and a failed response', () => {
  const encoder = createResponsesEncoder(about);
  const error = { code: 'STORAGE_FAILED', message: 'No.' };
  const event = { type: 'error', agentPath: ['a'], error } as never;
  expect(encoder.encode([event])).toMatchObject([
    { type: 'error', sequence_number: 0, code: 'STORAGE_FAILED' },
    { type: 'response.failed', sequence_number: 1 },
  ]);
});

/** The same type with writable lists, as in the `openai` package. */
type Writable<T> = { -readonly [K in keyof T]: Writable<T[K]> };
type Kept<T, K> = T extends unknown ? Omit<T, K & keyof T> : never;

test("the types agree with the openai package's", () => {
  type Sent = Writable<
    Omit<ResponseObject, 'error' | 'tools' | 'tool_choice' | 'text' | 'reasoning'>
  >;
  expectTypeOf<Writable<ResponseItem>>().toExtend<OpenAI.Responses.ResponseOutputItem>();
  expectTypeOf<Omit<Sent, 'usage'>>().toExtend<Partial<OpenAI.Responses.Response>>();
  expectTypeOf<NonNullable<Sent['usage']>>().toExtend<OpenAI.Responses.ResponseUsage>();
  type Events = Kept<Exclude<ResponseEvent, { readonly response: unknown }>, never>;
  type Wire = OpenAI.Responses.ResponseStreamEvent;
  expectTypeOf<Writable<Events>['type']>().toExtend<Wire['type']>();
  expectTypeOf<ResponseErrorEvent>().toExtend<
    Omit<OpenAI.Responses.ResponseErrorEvent, 'sequence_number'>
  >();
});
