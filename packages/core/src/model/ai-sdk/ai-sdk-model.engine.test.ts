/// <reference path="../../../../../test/provider-server/provided-context.d.ts" />
import { createOpenAI } from '@ai-sdk/openai';
import type { LanguageModelV3, LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, inject, test, vi } from 'vitest';
import { AgentError, type AgentErrorCode } from '../../error/agent-error.ts';
import {
  assistantMessage,
  createMessage,
  systemMessage,
  toolMessage,
  userMessage,
  type ContentBlock,
} from '../../message/msg.ts';
import { withOrigin } from '../../message/provider-metadata.ts';
import type { AiSdkLanguageModel } from './ai-sdk-contract.ts';
import { fromAiSdk } from './ai-sdk-model.ts';
import type { ChatModel, ModelDelta, ModelRequest, ToolSchema } from '../chat-model.ts';
import { abortHanging, leaveHanging } from '@test/support/closed-connection.ts';
import { joined } from '@test/support/model-outcome.ts';

/** Creates a model from AI SDK’s OpenAI provider, connected to the provider server. */
const at = (path: string, headers: Record<string, string> = {}): ChatModel =>
  fromAiSdk(
    createOpenAI({ apiKey: 'k', baseURL: `${inject('providerUrl')}${path}`, headers }).chat('m'),
    {
      features: { media: ['image', 'audio', 'file'] },
    },
  );

const noUsage = {
  inputTokens: {
    total: undefined,
    noCache: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
  },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

const finish: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: undefined },
  usage: noUsage,
};

/** Creates a model that streams these parts, one part per read. */
const scripted = (parts: readonly LanguageModelV4StreamPart[], doStream = vi.fn()): ChatModel => {
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'fake',
    modelId: 'v4',
    supportedUrls: { 'image/*': [/^https:\/\/images\.test\//], '*/*': [/^https:\/\/any\.test\//] },
    doGenerate: () => expect.unreachable('not streamed'),
    doStream: async (options) => {
      doStream(options);
      return { stream: streamOf(parts) };
    },
  };
  return fromAiSdk(model, { features: { media: ['image', 'file'] } });
};

const streamOf = <T>(parts: readonly T[]): ReadableStream<T> => {
  let next = 0;
  return new ReadableStream<T>({
    pull(controller) {
      const part = parts[next++];
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
};

const read = (
  model: ChatModel,
  request: Partial<ModelRequest> = {},
  signal: AbortSignal = new AbortController().signal,
) => {
  const messages = [userMessage('Hi')];
  return model.stream({ messages, tools: [], ...request }, { signal })[Symbol.asyncIterator]();
};

async function collect(model: ChatModel, request: Partial<ModelRequest> = {}) {
  const deltas: ModelDelta[] = [];
  let batches = 0;
  let error: AgentError | undefined;
  try {
    for await (const batch of { [Symbol.asyncIterator]: () => read(model, request) }) {
      batches++;
      deltas.push(...batch);
    }
  } catch (thrown) {
    expect(AgentError.is(thrown)).toBe(true);
    error = thrown as AgentError;
  }
  const text = deltas.map((delta) => (delta.type === 'text' ? delta.delta : '')).join('');
  return { deltas, batches, error, text };
}

function callsIn(
  deltas: readonly ModelDelta[],
): readonly { id: string; name: string; input: unknown }[] {
  return joined(deltas).calls.map((call) => ({ ...call, input: JSON.parse(call.input) }));
}

const schema = (name: string): ToolSchema => ({
  name,
  description: `Does ${name}.`,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
});

const linked = (type: 'image' | 'file' | 'video', url: string): ContentBlock => ({
  type,
  source: { type: 'url', url },
});

test('fromAiSdk() accepts models of version v3 and v4, and no others', () => {
  const v3 = { specificationVersion: 'v3', provider: 'p', modelId: 'm' } as LanguageModelV3;
  expect(fromAiSdk(v3)).toMatchObject({
    provider: 'p',
    modelId: 'm',
    features: { tools: true, media: ['image', 'file'] },
  });
  for (const other of [{ specificationVersion: 'v2' }, 'gpt-5']) {
    expect(() => fromAiSdk(other as unknown as AiSdkLanguageModel)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  }
});

test('through AI SDK’s OpenAI provider, text and usage are read, with many parts per batch', async () => {
  const { text, batches, deltas } = await collect(at('/deltas/2000/v1'));
  expect(text).toMatch(/^ word0 word1 .* word1999$/);
  expect(batches).toBeLessThan(500);
  expect(deltas.at(-1)).toMatchObject({
    type: 'finish',
    reason: 'stop',
    usage: { inputTokens: 10, outputTokens: 2000 },
    metadata: { model: 'm' },
  });
});

test('through AI SDK’s OpenAI provider, a conversation with parallel tool calls works', async () => {
  const model = at('/scripted/v1');
  const tools = [schema('weather'), schema('clock')];
  const question = userMessage('Weather and time?');
  const first = await collect(model, { messages: [question], tools });
  expect(callsIn(first.deltas)).toEqual([
    { id: 'call_1', name: 'weather', input: { city: 'sample' } },
    { id: 'call_2', name: 'clock', input: { city: 'sample' } },
  ]);
  expect(first.deltas.at(-1)).toMatchObject({ type: 'finish', reason: 'tool_calls' });

  const messages = [
    question,
    assistantMessage(
      callsIn(first.deltas).map((call) => ({
        type: 'tool_use',
        id: call.id,
        name: call.name,
        input: {},
      })),
    ),
    toolMessage({
      type: 'tool_result',
      toolUseId: 'call_1',
      name: 'weather',
      output: 'sun',
      state: 'success',
    }),
    toolMessage({
      type: 'tool_result',
      toolUseId: 'call_2',
      name: 'clock',
      output: 'noon',
      state: 'success',
    }),
  ];
  expect((await collect(model, { messages, tools })).text).toBe('The tools say: sun; noon');
});

test('through AI SDK’s OpenAI provider, the expected request is sent', async () => {
  const request: Partial<ModelRequest> = {
    messages: [
      systemMessage('Be brief.'),
      userMessage([
        { type: 'text', text: 'See' },
        { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0KGgo=' } },
        linked('image', 'https://x.test/a.png'),
        {
          type: 'file',
          name: 'a.pdf',
          source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' },
        },
      ]),
      assistantMessage([
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'c1', name: 'weather', input: { city: '東京' } },
        { type: 'tool_use', id: 'c2', name: 'weather', input: null, raw: '{"city":' },
        { type: 'tool_use', id: 'c3', name: 'weather', input: {} },
      ]),
      createMessage('tool', [
        {
          type: 'tool_result',
          toolUseId: 'c1',
          name: 'weather',
          output: [{ type: 'text', text: 'sun' }],
          state: 'success',
        },
        {
          type: 'tool_result',
          toolUseId: 'c2',
          name: 'weather',
          output: 'no JSON',
          state: 'error',
        },
      ]),
      toolMessage({
        type: 'tool_result',
        toolUseId: 'c3',
        name: 'weather',
        output: 'not allowed',
        state: 'denied',
      }),
    ],
    tools: [schema('weather')],
    toolChoice: { name: 'weather' },
    maxTokens: 5,
    temperature: 0.5,
    topP: 0.9,
    seed: 7,
    stop: ['END'],
    responseSchema: { type: 'object', properties: {}, additionalProperties: false },
    providerOptions: { openai: { user: 'ann' } },
  };
  const { text } = await collect(at('/echo/v1'), request);
  expect(JSON.parse(text)).toMatchObject({
    headers: { authorization: 'Bearer k' },
    body: {
      model: 'm',
      user: 'ann',
      max_tokens: 5,
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      stop: ['END'],
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
            { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
            { type: 'file', file: { filename: 'a.pdf' } },
          ],
        },
        {
          role: 'assistant',
          content: 'Let me look.',
          tool_calls: [
            { id: 'c1', function: { name: 'weather', arguments: '{"city":"東京"}' } },
            { id: 'c2', function: { arguments: '{}' } },
            { id: 'c3', function: { arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'sun' },
        { role: 'tool', tool_call_id: 'c2', content: '{"error":"no JSON"}' },
        { role: 'tool', tool_call_id: 'c3', content: 'not allowed' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Does weather.',
            parameters: { required: ['city'] },
          },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      response_format: { type: 'json_schema', json_schema: { name: 'response' } },
    },
  });
});

test.each<[fault: string, code: AgentErrorCode, retryable: boolean]>([
  ['401', 'MODEL_AUTH', false],
  ['429', 'MODEL_RATE_LIMITED', true],
  ['500', 'MODEL_SERVER', true],
  ['context-length', 'MODEL_CONTEXT_LENGTH', false],
  ['error-event', 'MODEL_SERVER', true],
  ['error-object', 'MODEL_SERVER', true],
  ['error-rate-limit', 'MODEL_RATE_LIMITED', true],
  ['bad-json', 'MODEL_BAD_RESPONSE', false],
  ['cut', 'MODEL_UNREACHABLE', true],
  ['no-finish', 'MODEL_BAD_RESPONSE', true],
  ['html', 'MODEL_BAD_RESPONSE', true],
])(
  'through AI SDK’s OpenAI provider, the fault %s causes an error with code %s',
  async (fault, code, retryable) => {
    const { error } = await collect(at(`/fault/${fault}/v1`));
    expect([error?.code, error?.retryable]).toEqual([code, retryable]);
    expect(error?.message.length).toBeLessThan(300);
    if (fault === '429') expect(error?.details).toMatchObject({ retryAfterMs: 2000 });
  },
);

test('an address without a server is reported', async () => {
  const model = fromAiSdk(
    createOpenAI({ apiKey: 'k', baseURL: 'http://127.0.0.1:9/v1' }).chat('m'),
  );
  expect((await collect(model)).error).toMatchObject({
    code: 'MODEL_UNREACHABLE',
    retryable: true,
  });
});

test.each(['hang', 'hang-mid'])(
  'an abort while the server has the fault %s ends the wait and closes the connection',
  async (fault) => {
    expect(await abortHanging((headers) => at(`/fault/${fault}/v1`, headers), fault)).toEqual({
      error: expect.objectContaining({ code: 'ABORTED', cause: 'enough', retryable: false }),
      departed: true,
    });
  },
);

test('the connection is closed when the reader stops reading', async () => {
  const hanging = leaveHanging((headers) => at('/fault/hang-mid/v1', headers));
  expect(await hanging).toEqual({ departed: true });
});

test('a model that sends nothing for `timeoutMs` causes MODEL_TIMEOUT', async () => {
  const model = fromAiSdk(
    createOpenAI({ apiKey: 'k', baseURL: `${inject('providerUrl')}/fault/hang/v1` }).chat('m'),
    { timeoutMs: 50 },
  );
  expect((await collect(model)).error).toMatchObject({ code: 'MODEL_TIMEOUT' });
});

test('fromAiSdk() reads thinking, signatures, files and tool calls that arrive in one part', async () => {
  const signature = { fake: { signature: 's' } };
  const { deltas } = await collect(
    scripted([
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r', modelId: 'exact', timestamp: new Date(0) },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'hm' },
      { type: 'reasoning-end', id: '0', providerMetadata: signature },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'yes' },
      { type: 'text-end', id: '0' },
      {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'data', data: new Uint8Array([65, 66, 67]) },
      },
      {
        type: 'tool-call',
        toolCallId: 'c',
        toolName: 'f',
        input: '{"a":1}',
        providerMetadata: signature,
      },
      { type: 'tool-input-start', id: 'web', toolName: 'search', providerExecuted: true },
      { type: 'tool-input-delta', id: 'web', delta: '{}' },
      {
        type: 'tool-call',
        toolCallId: 'web',
        toolName: 'search',
        input: '{}',
        providerExecuted: true,
      },
      {
        type: 'finish',
        finishReason: { unified: 'stop', raw: 'end_turn' },
        usage: {
          inputTokens: { total: 9, noCache: 5, cacheRead: 4, cacheWrite: undefined },
          outputTokens: { total: 3, text: 1, reasoning: 2 },
        },
      },
    ]),
  );
  expect(deltas).toEqual([
    { type: 'thinking', id: 'thinking-0', delta: 'hm' },
    { type: 'thinking', id: 'thinking-0', delta: '', providerMetadata: signature },
    { type: 'text', id: 'text-0', delta: 'yes' },
    { type: 'file', mediaType: 'image/png', data: 'QUJD' },
    { type: 'tool-input', index: 0, id: 'c', name: 'f', delta: '' },
    { type: 'tool-input', index: 0, delta: '{"a":1}', providerMetadata: signature },
    {
      type: 'thinking',
      id: 'tool-web',
      delta: '',
      providerMetadata: {
        hostedTool: { id: 'web', name: 'search', input: {} },
        aiSdkTool: { provider: 'fake' },
      },
    },
    {
      type: 'finish',
      reason: 'end_turn',
      usage: { inputTokens: 9, outputTokens: 3, reasoningTokens: 2, cachedInputTokens: 4 },
      metadata: { id: 'r', model: 'exact' },
    },
  ]);
});

test.for([
  [{ unified: 'content-filter', raw: 'SAFETY' }, 'content_filter'],
  [{ unified: 'length', raw: 'max_tokens' }, 'length'],
  [{ unified: 'other', raw: 'pause_turn' }, 'pause_turn'],
] as const)('the finish reason %j has one word for all providers', async ([given, reason]) => {
  const { deltas } = await collect(
    scripted([{ type: 'finish', finishReason: given, usage: noUsage }]),
  );
  expect(deltas).toMatchObject([{ type: 'finish', reason }]);
});

test.each([undefined, {}, { inputTokens: {} }])(
  'a finish part with the usage %j counts no tokens',
  async (usage) => {
    const part = { ...finish, usage } as unknown as LanguageModelV4StreamPart;
    const { deltas } = await collect(scripted([part]));
    expect(deltas).toMatchObject([{ type: 'finish', usage: { inputTokens: 0, outputTokens: 0 } }]);
  },
);

test('streamed tool input is not repeated when the whole tool call follows', async () => {
  const { deltas } = await collect(
    scripted([
      { type: 'tool-input-start', id: 'c', toolName: 'f' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a":' },
      { type: 'tool-input-delta', id: 'c', delta: '1}' },
      { type: 'tool-input-end', id: 'c' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: '{"a":1}' },
      finish,
    ]),
  );
  expect(callsIn(deltas)).toEqual([{ id: 'c', name: 'f', input: { a: 1 } }]);
});

const start = (id: string, toolName = 'f') => ({ type: 'tool-input-start', id, toolName }) as const;
const input = (id: string, delta: string) => ({ type: 'tool-input-delta', id, delta }) as const;
const whole = (toolCallId: string, text: string, toolName = 'f') =>
  ({ type: 'tool-call', toolCallId, toolName, input: text }) as const;

test.for<readonly [string, readonly LanguageModelV4StreamPart[], readonly string[]]>([
  [
    'whose tail is only in the whole call',
    [start('c'), input('c', '{"a"'), whole('c', '{"a":1}')],
    ['f {"a":1}'],
  ],
  ['that starts twice', [start('c'), start('c'), input('c', '{}'), whole('c', '{}')], ['f {}']],
  ['that comes twice', [whole('c', '{}'), whole('c', '{}')], ['f {}']],
  [
    'with the id of another call',
    [start('c'), whole('c', '{"a":1}'), start('c'), whole('c', '{"a":2}'), whole('d', '{}', 'g')],
    ['f {"a":1}', 'f {"a":2}', 'g {}'],
  ],
  [
    'whose whole input has other spaces',
    [start('c'), input('c', '{"a":1}'), whole('c', '{ "a": 1 }')],
    ['f {"a":1}'],
  ],
])('a call of AI SDK %s comes out as it went in', async ([, parts, expected]) => {
  const { deltas } = await collect(scripted([...parts, finish]));
  expect(joined(deltas).calls.map(({ name, input: text }) => `${name} ${text}`)).toEqual(expected);
});

test.for<readonly [string, readonly LanguageModelV4StreamPart[]]>([
  ['has no name', [whole('c', '{}', '')]],
  ['differs from its streamed input', [start('c'), input('c', '{"a":1'), whole('c', '{"b":2}')]],
])('a reply of AI SDK is refused if a call %s', async ([, parts]) => {
  const { error } = await collect(scripted([...parts, finish]));
  expect(error).toMatchObject({ code: 'MODEL_BAD_RESPONSE', retryable: true });
});

test('provider metadata is sent back to the provider that it came from', async () => {
  const doStream = vi.fn();
  const foreign = withOrigin('openrouter.ai', { reasoning_details: [{ data: 'x' }] });
  const providerMetadata = { fake: { signature: 's' }, id: 'replaced', ...foreign };
  await collect(scripted([finish], doStream), {
    messages: [
      assistantMessage([
        { type: 'thinking', thinking: 'hm', providerMetadata },
        { type: 'thinking', thinking: '', providerMetadata: foreign },
        { type: 'tool_use', id: 'c', name: 'f', input: {}, providerMetadata },
      ]),
      toolMessage([
        { type: 'tool_result', toolUseId: 'c', name: 'f', output: 'ok', state: 'success' },
      ]),
    ],
  });
  const providerOptions = { fake: { signature: 's' } };
  expect(doStream.mock.calls[0]?.[0].prompt[0]).toEqual({
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'hm', providerOptions },
      { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: {}, providerOptions },
    ],
  });
});

test('addresses that the provider does not fetch, and unsupported media, become text', async () => {
  const doStream = vi.fn();
  const content = [
    linked('image', 'https://images.test/a.png'),
    linked('image', 'https://x.test/a.png'),
    linked('file', 'https://any.test/a.pdf'),
    linked('file', 'not an address'),
    linked('video', 'https://any.test/a.mp4'),
  ];
  await collect(scripted([finish], doStream), { messages: [userMessage(content)] });
  expect(doStream.mock.calls[0]?.[0].prompt[0].content).toEqual([
    {
      type: 'file',
      mediaType: 'image/*',
      data: { type: 'url', url: new URL('https://images.test/a.png') },
    },
    { type: 'text', text: '[image: https://x.test/a.png]' },
    {
      type: 'file',
      mediaType: 'application/octet-stream',
      data: { type: 'url', url: new URL('https://any.test/a.pdf') },
    },
    { type: 'text', text: '[file: not an address]' },
    { type: 'text', text: '[video: https://any.test/a.mp4]' },
  ]);
});

test('files are converted for a v3 model in both directions', async () => {
  const doStream = vi.fn();
  const model: LanguageModelV3 = {
    specificationVersion: 'v3',
    provider: 'fake',
    modelId: 'v3',
    supportedUrls: Promise.resolve({ '*/*': [/^https:/] }),
    doGenerate: () => expect.unreachable('not streamed'),
    doStream: async (options) => {
      doStream(options);
      return {
        stream: streamOf([
          { type: 'file', mediaType: 'image/png', data: new Uint8Array([65, 66, 67]) },
          { type: 'file', mediaType: 'image/png', data: 'QUJD' },
          { type: 'text-delta', id: '1', delta: 'Hi' },
          { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: noUsage },
        ]),
      };
    },
  };
  const content = [
    linked('image', 'https://x.test/a.png'),
    linked('image', 'data:image/png;base64,QUJD'),
  ];
  const { deltas } = await collect(fromAiSdk(model), { messages: [userMessage(content)] });
  expect(deltas).toMatchObject([
    { data: 'QUJD' },
    { data: 'QUJD' },
    { delta: 'Hi' },
    { type: 'finish', usage: { inputTokens: 0, outputTokens: 0 } },
  ]);
  expect(doStream.mock.calls[0]?.[0].prompt[0].content).toEqual([
    { type: 'file', mediaType: 'image/*', data: new URL('https://x.test/a.png') },
    { type: 'file', mediaType: 'image/png', data: 'QUJD' },
  ]);
});

test.each<[error: unknown, code: AgentErrorCode]>([
  [Object.assign(new Error('No key.'), { name: 'AI_LoadAPIKeyError' }), 'MODEL_AUTH'],
  [
    Object.assign(new Error('No such thing.'), { name: 'AI_UnsupportedFunctionalityError' }),
    'MODEL_REQUEST',
  ],
  [Object.assign(new Error('Odd.'), { name: 'AI_TypeValidationError' }), 'MODEL_BAD_RESPONSE'],
  [new TypeError('fetch failed'), 'MODEL_UNREACHABLE'],
  // AI SDK quotes what it could not parse, which may be the model's own words.
  [
    Object.assign(new Error('Value: "a rate limit"'), { name: 'AI_JSONParseError' }),
    'MODEL_BAD_RESPONSE',
  ],
  [
    Object.assign(new Error('Slow down.'), { name: 'GatewayRateLimitError', statusCode: 429 }),
    'MODEL_RATE_LIMITED',
  ],
  [new Error('Too many tokens, please wait before trying again.'), 'MODEL_RATE_LIMITED'],
  [new Error('Input is too long for requested model.'), 'MODEL_CONTEXT_LENGTH'],
  [{ message: 'Slow down.', code: 'rate_limit_exceeded' }, 'MODEL_RATE_LIMITED'],
  ['Something broke', 'MODEL_SERVER'],
  [undefined, 'MODEL_SERVER'],
])(
  'an error part with %j causes an error with code %s, after the text before it',
  async (error, code) => {
    const outcome = await collect(
      scripted([{ type: 'text-delta', id: '0', delta: 'Hello' }, { type: 'error', error }, finish]),
    );
    expect([outcome.text, outcome.error?.code]).toEqual(['Hello', code]);
  },
);

test('a stream without a finish part is rejected', async () => {
  const { text, error } = await collect(
    scripted([{ type: 'text-delta', id: '0', delta: 'Hello' }]),
  );
  expect([text, error?.code, error?.retryable]).toEqual(['Hello', 'MODEL_BAD_RESPONSE', true]);
});
