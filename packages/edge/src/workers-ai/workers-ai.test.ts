import {
  ReActAgent,
  tool,
  toolUsesOf,
  userMessage,
  type ModelDelta,
  type ModelRequest,
} from '@isoloop/core';
import { expect, test } from 'vitest';
import { workersAi, type WorkersAiBinding, type WorkersAiOptions } from './workers-ai.ts';

interface Call {
  readonly model: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * Fakes the Workers AI binding as documented. Each call returns the next reply, or throws the reply
 * if it is an error.
 */
function binding(...replies: readonly unknown[]): WorkersAiBinding & { readonly calls: Call[] } {
  const calls: Call[] = [];
  return {
    calls,
    run: async (model, inputs, options) => {
      calls.push({ model, inputs: inputs as Call['inputs'], options: options as Call['options'] });
      const reply = replies[calls.length - 1];
      if (reply instanceof Error) throw reply;
      return typeof reply === 'function' ? (reply as (options: object) => unknown)(options) : reply;
    },
  };
}

const events = (...chunks: readonly unknown[]): string =>
  chunks
    .map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`)
    .join('');
const streamed = (text: string, size = 7): ReadableStream<Uint8Array> => {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size)
        controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
};
const response = (text: string): Response =>
  new Response(streamed(text), { headers: { 'content-type': 'text/event-stream' } });

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const own = events(
  { response: 'Hel', p: 'abc' },
  { response: 'lo 서울', p: '' },
  { response: '', usage },
  '[DONE]',
);
const chunk = (delta: object, finish: string | null = null): object => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});

const request: ModelRequest = { messages: [userMessage('Hi')], tools: [] };
const model = '@cf/meta/llama-4-scout-17b-16e-instruct';

async function deltasOf(
  ai: WorkersAiBinding,
  options: Partial<WorkersAiOptions> = {},
  asked = request,
): Promise<readonly ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  const { signal } = new AbortController();
  for await (const batch of workersAi(ai, { model, ...options }).stream(asked, { signal }))
    deltas.push(...batch);
  return deltas;
}
const textOf = (deltas: readonly ModelDelta[]): string =>
  deltas.map((delta) => (delta.type === 'text' ? delta.delta : '')).join('');

test.each<[string, () => unknown]>([
  ['the binding’s own events, as a response', () => response(own)],
  ['the binding’s own events, as a stream', () => streamed(own)],
  ['the binding’s own events, with one byte per read', () => streamed(own, 1)],
  [
    'chat completions',
    () =>
      response(
        events(
          chunk({ content: 'Hel' }),
          chunk({ content: 'lo 서울' }, 'stop'),
          { choices: [], usage },
          '[DONE]',
        ),
      ),
  ],
  ['a whole reply in the binding’s own format', () => ({ response: 'Hello 서울', usage })],
  [
    'a whole reply, as a response',
    () => Response.json({ result: { response: 'Hello 서울', usage }, success: true }, {}),
  ],
  [
    'a whole chat completion',
    () => ({
      choices: [{ index: 0, message: { content: 'Hello 서울' }, finish_reason: 'stop' }],
      usage,
    }),
  ],
])('workersAi() reads text and usage from %s', async (_what, reply) => {
  const deltas = await deltasOf(binding(reply));
  expect(textOf(deltas)).toBe('Hello 서울');
  expect(deltas.at(-1)).toMatchObject({
    type: 'finish',
    usage: { inputTokens: 3, outputTokens: 4 },
  });
});

test.each([[undefined], ['AI'], [{}]])('workersAi() refuses %j, which is no binding', (ai) => {
  expect(() => workersAi(ai as never, { model })).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringMatching(
        /^workersAi\(\): binding must be an object with run\(\); got /,
      ),
    }),
  );
});

test('workersAi() separates thinking from text', async () => {
  const deltas = await deltasOf(
    binding(
      response(
        events(chunk({ reasoning_content: 'Hm' }), chunk({ content: 'Yes' }, 'stop'), '[DONE]'),
      ),
    ),
  );
  expect(deltas.map(({ type }) => type)).toEqual(['thinking', 'text', 'finish']);
});

test('its own events end with the usage, and a cut stream lacks it', async () => {
  const finishOf = async (...sent: readonly (object | string)[]) =>
    (await deltasOf(binding(response(events(...sent))))).at(-1);
  const last = { response: '', usage };
  expect(await finishOf({ response: 'Hi' }, last, '[DONE]')).toMatchObject({ reason: 'stop' });
  expect(await finishOf({ response: 'H' }, '[DONE]')).toMatchObject({ reason: 'unknown' });
  const whole = await deltasOf(binding(Response.json({ response: 'Hi' })));
  expect(whole.at(-1)).toMatchObject({ reason: 'stop' });
});

test('with `thinkTags`, workersAi() splits thinking from text, in its own stream format', async () => {
  const reply = events({ response: '<think>Hm</th' }, { response: 'ink>\n\nYes' }, '[DONE]');
  const deltas = await deltasOf(binding(response(reply)), { thinkTags: true });
  expect(deltas.map(({ type }) => type)).toEqual(['thinking', 'text', 'finish']);
  expect(textOf(deltas)).toBe('Yes');
  expect(textOf(await deltasOf(binding(response(reply))))).toContain('<think>');
});

const calls = [
  { name: 'clock', arguments: { city: '서울' } },
  { name: 'clock', arguments: { city: 'Rome' } },
];

test.each<[string, () => unknown]>([
  [
    'its own events',
    () =>
      response(
        events(
          { response: '' },
          { tool_calls: calls, response: null },
          { response: '', usage },
          '[DONE]',
        ),
      ),
  ],
  [
    'its own events, one each',
    () =>
      response(events({ tool_calls: [calls[0]] }, { tool_calls: [calls[1]] }, { usage }, '[DONE]')),
  ],
  ['a whole reply', () => ({ response: null, tool_calls: calls, usage })],
  [
    'fragments',
    () =>
      response(
        events(
          { tool_calls: [{ id: 'a', index: 0, type: 'function', function: { name: 'clock' } }] },
          { tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] },
          { tool_calls: [{ index: 0, function: { arguments: '"서울"}' } }] },
          {
            tool_calls: [
              {
                id: 'b',
                index: 1,
                type: 'function',
                function: { name: 'clock', arguments: '{"city":"Rome"}' },
              },
            ],
          },
          {
            tool_calls: [
              { id: null, index: 1, type: null, function: { name: null, arguments: '' } },
            ],
          },
          '[DONE]',
        ),
      ),
  ],
  [
    'chat completions',
    () =>
      response(
        events(
          chunk({
            tool_calls: [
              { index: 0, id: 'a', function: { name: 'clock', arguments: '{"city":"서울"}' } },
            ],
          }),
          chunk(
            {
              tool_calls: [
                { index: 1, id: 'b', function: { name: 'clock', arguments: '{"city":"Rome"}' } },
              ],
            },
            'tool_calls',
          ),
          '[DONE]',
        ),
      ),
  ],
])('an agent with workersAi() reads tool calls from %s', async (_what, first) => {
  const asked: unknown[] = [];
  const clock = tool({
    name: 'clock',
    description: 'The time',
    input: { type: 'object', properties: { city: { type: 'string' } } },
    execute: (input) => (asked.push(input), 'noon'),
  });
  const ai = binding(first, response(own));
  const agent = new ReActAgent({ name: 'a', model: workersAi(ai, { model }), tools: [clock] });
  const { text } = await agent.call('What time is it?');
  expect(text).toBe('Hello 서울');
  expect(asked).toEqual([{ city: '서울' }, { city: 'Rome' }]);
  const used = (await agent.messages()).flatMap(toolUsesOf);
  expect(new Set(used.map(({ id }) => id)).size).toBe(2);
  const { messages } = ai.calls[1]!.inputs as {
    readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  };
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
  // The binding rejects null as content.
  expect(messages.every(({ content }) => typeof content === 'string')).toBe(true);
});

test('workersAi() sends the request in the format of the binding', async () => {
  const ai = binding(response(own));
  const signal = new AbortController().signal;
  const chosen = workersAi(ai, { model, gateway: { id: 'mine' } });
  const named = (name: string) => ({
    name,
    description: '',
    parameters: { type: 'object' as const },
  });
  const asked = {
    ...request,
    tools: [named('a'), named('b')],
    toolChoice: { name: 'b' },
    maxTokens: 9,
    temperature: 0.5,
  };
  for await (const _batch of chosen.stream(asked, { signal }));
  expect(ai.calls[0]).toMatchObject({
    model,
    inputs: {
      stream: true,
      max_tokens: 9,
      temperature: 0.5,
      tool_choice: 'required',
      tools: [{ function: { name: 'b' } }],
    },
    options: { gateway: { id: 'mine' }, returnRawResponse: true },
  });
  expect(ai.calls[0]!.inputs).not.toHaveProperty('model');
  expect(ai.calls[0]!.inputs).not.toHaveProperty('stream_options');
  expect([chosen.provider, chosen.modelId, chosen.features.tools]).toEqual([
    'workers-ai',
    model,
    true,
  ]);
});

test.each<[unknown, string, boolean]>([
  [new Error('3040: Capacity temporarily exceeded, please try again.'), 'MODEL_RATE_LIMITED', true],
  [new Error('3036: You have used up your daily free allocation'), 'MODEL_RATE_LIMITED', true],
  [new Error('AiError: 5007: No such model @cf/x or task'), 'MODEL_REQUEST', false],
  [new Error('5018: The account is not allowed to access this model'), 'MODEL_AUTH', false],
  [new Error('3007: Request timeout'), 'MODEL_TIMEOUT', true],
  [new Error('Something else'), 'MODEL_SERVER', true],
  [Response.json({ errors: [{ message: 'x' }] }, { status: 429 }), 'MODEL_RATE_LIMITED', true],
  [response(events({ response: 'Hel' })), 'MODEL_BAD_RESPONSE', true],
  [{ image: 'x' }, 'MODEL_BAD_RESPONSE', false],
  [response('data: {"resp\n\n'), 'MODEL_BAD_RESPONSE', false],
])('workersAi() maps a failure to an error code: %s', async (reply, code, retryable) => {
  await expect(deltasOf(binding(reply))).rejects.toMatchObject({ code, retryable });
});

test('an abort of workersAi() reaches the binding', async () => {
  const controller = new AbortController();
  const ai = binding(({ signal }: { signal: AbortSignal }) => {
    controller.abort();
    expect(signal.aborted).toBe(true);
    throw signal.reason;
  });
  const run = async (): Promise<void> => {
    for await (const _batch of workersAi(ai, { model }).stream(request, {
      signal: controller.signal,
    }));
  };
  await expect(run()).rejects.toMatchObject({ code: 'ABORTED' });
});
