import { expect, test } from 'vitest';
import { httpProviders } from '@test/support/providers.ts';
import { unfinished } from '@test/support/wire-formats.ts';
import { agentTool } from '../../several/agent-tool.ts';
import type { AgentOptions } from '../../react-agent/agent-options.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { AgentError } from '../../error/agent-error.ts';
import { outputGuards, regexRule } from '@isoloop/guards';
import { fallback } from '../../resilience/fallback.ts';
import { retry } from '../../resilience/retry.ts';
import { toolResultsOf } from '../../message/msg.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { boundedModel } from './bounded-model.ts';
import type { ChatModel, ModelDelta } from '../chat-model.ts';
import { openai } from '../openai/openai.ts';
import { openaiResponses } from '../responses/openai-responses.ts';
import { fromAiSdk } from '../ai-sdk/ai-sdk-model.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { textToolCalls } from '../../text-protocol/text-tool-calls.ts';
import { tool } from '../../tool/tool.ts';

/**
 * Number of pieces after which a server ends its reply, so that a client without a limit ends too.
 */
const pieces = 400;
const thousand = 'word '.repeat(200);
const tenThousand = thousand.repeat(10);
/** A tenth of the default limit, because most models here only have to have one. */
const limits = { replyLength: 100_000 };

/**
 * Creates a server that sends pieces without an end. `seen` has the number of pieces and whether
 * the reply was canceled.
 */
const server = (piece: (index: number) => string, { head = '', status = 200 } = {}) => {
  const seen = { cancelled: false, sent: 0 };
  const encoder = new TextEncoder();
  const serve = async (): Promise<Response> => {
    let index = -1;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (index >= pieces) return controller.close();
          controller.enqueue(encoder.encode(index < 0 ? head || piece(0) : piece(index)));
          index += 1;
          seen.sent += 1;
        },
        cancel() {
          seen.cancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { status });
  };
  return { seen, serve };
};

const chunk = (delta: object): string => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`;
const argumentsOf = (index: number, text: string) => ({
  tool_calls: [{ index, id: `c${index}`, function: { name: 'look', arguments: text } }],
});

const wires: readonly (readonly [what: string, ...Parameters<typeof server>])[] = [
  ['text', () => chunk({ content: thousand })],
  ['thinking', () => chunk({ reasoning_content: thousand })],
  ['the arguments of one call', () => chunk(argumentsOf(0, thousand))],
  ['calls', (index) => chunk(argumentsOf(index, thousand))],
  ['names of calls', (index) => chunk({ tool_calls: [{ index, function: { name: thousand } }] })],
  ['one event without an end', () => thousand.repeat(4), { head: 'data: {"choices":' }],
  ['lines of one event', () => `data: ${thousand.repeat(4)}\n`],
  ['a reply that is not an event stream', () => thousand.repeat(4), { head: '{"choices":"' }],
  [
    'turns of thinking and text',
    () =>
      Array.from({ length: 200 }, () => chunk({ content: 'a' }) + chunk({ reasoning: 'b' })).join(
        '',
      ),
  ],
];

const tooLong = { code: 'MODEL_REPLY_TOO_LONG', retryable: false };

test.for(wires)('openai() stops reading an endless reply of %s', async ([, piece, options]) => {
  const { seen, serve } = server(piece, options);
  const agent = new ReActAgent({ name: 'a', model: openai({ model: 'm', fetch: serve }), limits });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(seen.cancelled).toBe(true);
  expect(seen.sent).toBeLessThan(pieces);
});

const words = Array.from({ length: pieces }, () => thousand);
const longReplies = [
  ['text', { text: words }],
  ['thinking', { thinking: words }],
  ['arguments', { toolCalls: [{ id: 'c', name: 'look', arguments: words }] }],
] as const;

test.for(
  httpProviders.flatMap((row) => longReplies.map((long) => [row.name, ...long, row] as const)),
)('%s() stops reading a long reply of %s', async ([, , reply, { model, wire }]) => {
  const sent = unfinished(wire, reply);
  const { seen, serve } = server((index) => sent[index]!);
  const agent = new ReActAgent({ name: 'a', model: model({ model: 'm', fetch: serve }), limits });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(seen.cancelled).toBe(true);
  expect(seen.sent).toBeLessThan(pieces);
});

const emptyWires: readonly (readonly [what: string, delta: object])[] = [
  ['unknown fields', { audio: { data: thousand } }],
  ['empty calls', { tool_calls: [{ index: 0 }] }],
  ['empty text', { content: '' }],
];

test.for(emptyWires)('openai() stops reading %s without an end', async ([, delta]) => {
  const piece = chunk(delta);
  const { seen, serve } = server(() => piece.repeat(Math.ceil(40_000 / piece.length)));
  const model = openai({ model: 'm', fetch: serve });
  const agent = new ReActAgent({ name: 'a', model, limits: { replyLength: 10_000 } });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(seen.cancelled).toBe(true);
  expect(seen.sent).toBeLessThan(pieces);
});

test('openaiResponses() stops reading unknown events without an end', async () => {
  const event = `data: ${JSON.stringify({ type: 'response.new', text: tenThousand })}\n\n`;
  const { seen, serve } = server(() => event.repeat(4));
  const model = openaiResponses({ model: 'm', fetch: serve });
  const agent = new ReActAgent({ name: 'a', model, limits: { replyLength: 10_000 } });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(seen.cancelled).toBe(true);
  expect(seen.sent).toBeLessThan(pieces);
});

test('only the start of an endless error page is read', async () => {
  const { seen, serve } = server(() => tenThousand, { status: 500 });
  const agent = new ReActAgent({ name: 'a', model: openai({ model: 'm', fetch: serve }) });
  await expect(agent.call('Hi')).rejects.toMatchObject({ code: 'MODEL_SERVER' });
  expect(seen.cancelled).toBe(true);
  expect(seen.sent).toBeLessThan(20);
});

test('nothing is read after the end of a reply, even if the server sends more', async () => {
  const { seen, serve } = server(() => thousand, {
    head: `${chunk({ content: 'Done.' })}data: [DONE]\n\n`,
  });
  const agent = new ReActAgent({ name: 'a', model: openai({ model: 'm', fetch: serve }) });
  expect((await agent.call('Hi')).text).toBe('Done.');
  expect(seen.cancelled).toBe(true);
  expect(seen.sent).toBeLessThan(20);
});

type Part = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Creates an AI SDK model that streams these parts without an end. */
const aiSdk = (parts: (index: number) => readonly Part[]) => {
  const seen = { cancelled: false, sent: 0 };
  const model = fromAiSdk({
    specificationVersion: 'v4',
    provider: 'p',
    modelId: 'm',
    supportedUrls: {},
    doStream: async () => ({
      stream: new ReadableStream<Part>(
        {
          pull(controller) {
            if (seen.sent > 40_000) return controller.close();
            for (const part of parts(seen.sent)) controller.enqueue(part);
            seen.sent += 1;
          },
          cancel() {
            seen.cancelled = true;
          },
        },
        { highWaterMark: 0 },
      ),
    }),
  } as never);
  return { model, seen };
};

test.for<[what: string, parts: (index: number) => readonly Part[]]>([
  ['text', () => [{ type: 'text-delta', id: 't', delta: thousand }]],
  ['thinking', () => [{ type: 'reasoning-delta', id: 't', delta: thousand }]],
  [
    'arguments',
    (index) => [
      { type: 'tool-input-start', id: `c${index}`, toolName: 'look' },
      { type: 'tool-input-delta', id: `c${index}`, delta: thousand },
    ],
  ],
  [
    'calls',
    (index) => [{ type: 'tool-call', toolCallId: `c${index}`, toolName: 'look', input: thousand }],
  ],
  ['files', () => [{ type: 'file', mediaType: 'image/png', data: thousand.repeat(20) }]],
  [
    'metadata',
    (index) => [
      { type: 'text-start', id: `t${index}`, providerMetadata: { p: { signature: thousand } } },
    ],
  ],
  [
    'empty blocks',
    (index) =>
      [{ type: 'text-start', id: `t${index}`, providerMetadata: {} }].flatMap((part) =>
        Array.from({ length: 4 }, (_, at) => ({ ...part, id: `${part.id}.${at}` })),
      ),
  ],
])('fromAiSdk() stops reading an endless reply of %s', async ([, parts]) => {
  const { model, seen } = aiSdk(parts);
  const agent = new ReActAgent({ name: 'a', model, limits });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(seen.cancelled).toBe(true);
  expect(seen.sent).toBeLessThan(40_000);
});

test('fromAiSdk() stops reading unknown parts without an end', async () => {
  const { model, seen } = aiSdk(() => Array.from({ length: 10 }, () => ({ type: 'ping' })));
  const agent = new ReActAgent({ name: 'a', model, limits: { replyLength: 10_000 } });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(seen.cancelled).toBe(true);
  expect(seen.sent).toBeLessThan(40_000);
});

test('an image of three megabytes does not exceed the limit', async () => {
  const item = { type: 'image_generation_call', id: 'g', result: 'A'.repeat(3_000_000) };
  const event = { type: 'response.output_item.done', output_index: 0, item };
  const completed = { type: 'response.completed', response: { output: [item] } };
  const body = [event, completed].map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
  const model = openaiResponses({ model: 'm', fetch: async () => new Response(body) });
  const { message } = await new ReActAgent({ name: 'a', model }).call('Draw.');
  expect(message.content).toContainEqual(expect.objectContaining({ type: 'image' }));
});

test.for<[what: string, piece: (index: number) => object]>([
  ['text', () => ({ type: 'response.output_text.delta', output_index: 0, delta: thousand })],
  ['thinking', () => ({ type: 'response.reasoning_text.delta', output_index: 0, delta: thousand })],
  [
    'calls',
    (index) => ({
      type: 'response.output_item.added',
      output_index: index,
      item: { type: 'function_call', id: `i${index}`, call_id: `c${index}`, name: thousand },
    }),
  ],
  [
    'arguments',
    (index) =>
      index
        ? { type: 'response.function_call_arguments.delta', output_index: 0, delta: thousand }
        : {
            type: 'response.output_item.added',
            output_index: 0,
            item: { type: 'function_call', id: 'i', call_id: 'c', name: 'look' },
          },
  ],
  [
    'notes',
    () => ({
      type: 'response.output_text.annotation.added',
      output_index: 0,
      annotation: { type: 'url_citation', url: thousand.repeat(4) },
    }),
  ],
  ['items without content', (index) => ({ item: { type: 'web_search_call', id: `w${index}` } })],
])('openaiResponses() stops reading an endless reply of %s', async ([, piece]) => {
  const { seen, serve } = server((index) => {
    const { item, ...event } = piece(index) as { readonly item?: { readonly id: string } };
    const isSearch = item?.id.startsWith('w');
    const added = { type: 'response.output_item.added', output_index: index, item };
    const events = isSearch
      ? Array.from({ length: 200 }, (_, at) => ({
          ...added,
          output_index: index * 200 + at,
          item: { ...item, id: `${item?.id}.${at}` },
        }))
      : [{ ...event, item }];
    return events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
  });
  const agent = new ReActAgent({
    name: 'a',
    model: openaiResponses({ model: 'm', fetch: serve }),
    limits,
  });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(seen.cancelled).toBe(true);
  expect(seen.sent).toBeLessThan(pieces);
});

/** Creates a custom model that streams this delta many times. */
const custom = (delta: (index: number) => ModelDelta, count = 400) => {
  const seen = { ended: false, sent: 0 };
  const model: ChatModel = {
    provider: 'p',
    modelId: 'm',
    features: { tools: true, media: [] },
    async *stream() {
      try {
        for (; seen.sent < count; seen.sent += 1) yield [delta(seen.sent)];
        yield [{ type: 'finish', reason: 'stop' }];
      } finally {
        seen.ended = true;
      }
    },
  };
  return { model, seen };
};

const text = (): ModelDelta => ({ type: 'text', id: 't', delta: tenThousand });

const wrappers: readonly (readonly [what: string, options: () => Partial<AgentOptions>])[] = [
  ['no wrapper', () => ({})],
  ['retry()', () => ({ use: [retry()] })],
  ['the text protocol', () => ({ use: [textToolCalls()] })],
  [
    'guards that hold the whole reply back',
    () => ({ use: [outputGuards([regexRule({ pattern: /secret/ })], { lookahead: 'all' })] }),
  ],
  [
    'a wrapper that passes no context on and gathers the reply',
    () => ({
      use: [
        {
          wrapModel: (model) => ({
            ...model,
            async *stream(request, { signal }) {
              const all: ModelDelta[] = [];
              for await (const deltas of model.stream(request, { signal })) all.push(...deltas);
              yield all;
            },
          }),
        },
      ],
    }),
  ],
];

test.for(wrappers)(
  'an endless reply of a custom model is ended, with %s around the model',
  async ([, options]) => {
    const { model, seen } = custom(text);
    const agent = new ReActAgent({ name: 'a', model, ...options() });
    await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
    await expect.poll(() => seen.ended).toBe(true);
    expect(seen.sent).toBeLessThan(200);
  },
);

test('a fallback model has the same limit, and is used after a model that exceeded it', async () => {
  const first = custom(text);
  const second = custom(text);
  const endless = new ReActAgent({
    name: 'a',
    model: first.model,
    use: [fallback([second.model])],
  });
  await expect(endless.call('Hi')).rejects.toMatchObject(tooLong);
  expect([first.seen.sent < 200, second.seen.sent < 200]).toEqual([true, true]);
  const helped = new ReActAgent({
    name: 'a',
    model: custom(text).model,
    use: [fallback([new ScriptedModel(['Short.'])])],
  });
  expect((await helped.call('Hi')).text).toBe('Short.');
});

test('guards that hold the whole reply back do not collect an endless reply of a fallback model', async () => {
  const second = custom(text);
  const agent = new ReActAgent({
    name: 'a',
    model: custom(text).model,
    use: [
      outputGuards([regexRule({ pattern: /secret/ })], { lookahead: 'all' }),
      fallback([second.model]),
    ],
  });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(second.seen.sent).toBeLessThan(200);
});

test('a model that middleware bounds and uses instead of the agent’s model has the same limit', async () => {
  const other = custom(text);
  const { agent } = scriptedAgent([], { use: [{ wrapModel: () => boundedModel(other.model) }] });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(other.seen.sent).toBeLessThan(200);
});

test('a reply that restarts again and again is ended', async () => {
  const { model, seen } = custom(
    (index) => (index % 50 === 49 ? { type: 'reset', reason: 'again' } : text()),
    5_000,
  );
  const agent = new ReActAgent({ name: 'a', model });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(seen.sent).toBeLessThan(1_000);
});

test('`replyLength` sets the limit, and the next call works after a reply that was too long', async () => {
  const fits = 'a'.repeat(100);
  const replies = [fits, `${fits}b`, 'Fine.', { thinking: fits, text: 'b' }];
  const { agent } = scriptedAgent(replies, { limits: { replyLength: 120 } });
  expect((await agent.call('One')).text).toBe(fits);
  const narrow = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([`${fits} ${fits}`, 'Fine.', { thinking: fits, text: fits }]),
    limits: { replyLength: 120 },
  });
  await expect(narrow.call('Two')).rejects.toMatchObject({
    ...tooLong,
    message: 'The reply has more than 120 characters. The limit is `limits.replyLength`.',
  });
  expect((await narrow.call('Three')).text).toBe('Fine.');
  expect(await narrow.call('Four', { throwOnError: false })).toMatchObject({
    reason: 'error',
    error: { code: 'MODEL_REPLY_TOO_LONG' },
  });
});

test('the default limit allows a long reply, and Infinity sets no limit', async () => {
  const { model } = custom(text, 99);
  const agent = new ReActAgent({ name: 'a', model });
  expect((await agent.call('Hi')).text).toHaveLength(990_000);
  const open = new ReActAgent({
    name: 'a',
    model: custom(text, 300).model,
    limits: { replyLength: Infinity },
  });
  expect((await open.call('Hi')).text).toHaveLength(3_000_000);
});

test.for([-1, Number.NaN, '5', null])('`replyLength` rejects %s', (replyLength) => {
  expect(
    () =>
      new ReActAgent({
        name: 'a',
        model: new ScriptedModel([]),
        limits: { replyLength: replyLength as never },
      }),
  ).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});

test('an agent as a tool has its own limit, and its failure is an error result', async () => {
  const child = new ReActAgent({ name: 'child', model: custom(text).model });
  const parent = new ReActAgent({
    name: 'parent',
    model: new ScriptedModel([
      { toolCalls: [{ name: 'call_child', input: { message: 'Go' } }] },
      'It failed.',
    ]),
    tools: [agentTool(child, { description: 'Helps.' })],
  });
  expect((await parent.call('Hi')).text).toBe('It failed.');
  const [result] = (await parent.messages()).flatMap(toolResultsOf);
  expect(result).toMatchObject({ state: 'error', output: expect.stringContaining('1000000') });
});

test('the limit also applies to the summary at the limit of iterations', async () => {
  const { model } = custom(text);
  const agent = new ReActAgent({ name: 'a', model, limits: { iterations: 0 } });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
});

test('a stream and a detached run fail with the same error', async () => {
  const agent = (): ReActAgent => new ReActAgent({ name: 'a', model: custom(text).model });
  const read = async (): Promise<void> => {
    for await (const _event of agent().stream('Hi'));
  };
  await expect(read()).rejects.toMatchObject(tooLong);
  const detached = agent().stream('Hi', { detached: true });
  await expect(detached.result).rejects.toMatchObject(tooLong);
  expect(AgentError.is(await detached.result.catch((error: unknown) => error))).toBe(true);
});

test('the tool calls of a reply that is too long do not run', async () => {
  let ran = 0;
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: { type: 'object' },
    execute: () => (ran += 1),
  });
  const calls = (index: number): ModelDelta =>
    index ? text() : { type: 'tool-input', index: 0, id: 'c', name: 'look', delta: '{}' };
  const agent = new ReActAgent({ name: 'a', model: custom(calls).model, tools: [look] });
  await expect(agent.call('Hi')).rejects.toMatchObject(tooLong);
  expect(ran).toBe(0);
});
