/// <reference path="../../../../../test/provider-server/provided-context.d.ts" />
import { expect, inject, test, vi } from 'vitest';
import * as z from 'zod';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { dashscope, type DashScopeOptions } from './dashscope.ts';
import type { AgentErrorCode } from '../../error/agent-error.ts';
import { multiAgent } from '../formatter/multi-agent.ts';
import {
  assistantMessage,
  createMessage,
  systemMessage,
  userMessage,
  textOf,
  type ContentBlock,
  type Msg,
} from '../../message/msg.ts';
import type { ChatModel, ModelRequest } from '../chat-model.ts';
import { tool } from '../../tool/tool.ts';
import { abortHanging, leaveHanging } from '@test/support/closed-connection.ts';
import { outcomeOf, talkOfSeveral } from '@test/support/model-outcome.ts';

const at = (name: string, options: Partial<DashScopeOptions> = {}): ChatModel =>
  dashscope({
    model: 'qwen-plus',
    baseURL: `${inject('providerUrl')}/dashscope/${name}/api/v1`,
    ...options,
  });

/** Returns what the server received. */
const echoed = async (request: Partial<ModelRequest>, options?: Partial<DashScopeOptions>) =>
  JSON.parse((await outcomeOf(at('echo', options), request)).text) as {
    readonly path: string;
    readonly headers: Record<string, string>;
    readonly body: {
      readonly input: { readonly messages: readonly unknown[] };
      readonly parameters: Record<string, unknown>;
    };
  };

const image: ContentBlock = {
  type: 'image',
  source: { type: 'base64', mediaType: 'image/png', data: 'QUJD' },
};

const weather = tool({
  name: 'weather',
  description: 'Weather of a city.',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `sun in ${city}`,
});

const script = [
  [
    { name: 'weather', arguments: { city: '東京' } },
    { name: 'weather', arguments: { city: 'Paris' } },
  ],
  'They say: {results}',
];

test.each(['302/far', '307/near', '307/nowhere'])(
  'dashscope() sends nothing to the target of the redirect %s',
  async (path) => {
    const baseURL = `${inject('providerUrl')}/redirect/${path}/dashscope/echo/api/v1`;
    const { text, error } = await outcomeOf(at('', { baseURL, apiKey: 'sk-secret-0123456789' }));
    expect([text, error?.code, error?.retryable]).toEqual(['', 'MODEL_BAD_RESPONSE', false]);
    expect(error?.message).toContain('redirects');
  },
);

test('dashscope() reads text with its finish reason and usage', async () => {
  expect(await outcomeOf(at('scripted'), { providerOptions: { script: ['晴れ です'] } })).toEqual({
    text: '晴れ です',
    thinking: '',
    calls: [],
    finish: {
      type: 'finish',
      reason: 'stop',
      usage: { inputTokens: 20, outputTokens: 2, reasoningTokens: 0, cachedInputTokens: 8 },
      metadata: { id: expect.any(String) },
    },
  });
});

test('dashscope() separates thinking from the text', async () => {
  const { thinking, text } = await outcomeOf(at('scripted', { thinkingBudget: 50 }), {
    providerOptions: { script: ['Yes.'] },
  });
  expect({ thinking, text }).toEqual({ thinking: 'Let me think.', text: 'Yes.' });
});

test.each<[endpoint: string, options: Partial<DashScopeOptions>]>([
  ['text', {}],
  ['text', { enableThinking: true }],
  ['multimodal', { model: 'qwen3-vl-plus' }],
  ['multimodal', { model: 'qwen3.6-plus', thinkingBudget: 100 }],
])('an agent calls tools in parallel over the %s service with %j', async (_, options) => {
  const agent = new ReActAgent({
    name: 'assistant',
    systemPrompt: 'Be brief.',
    model: at('scripted', options),
    tools: [weather],
    generate: { providerOptions: { script } },
  });
  const { text, iterations, usage } = await agent.call('Is it warm?');
  expect([text, iterations]).toEqual(['They say: sun in 東京; sun in Paris', 2]);
  expect(usage.inputTokens).toBe(40);
  const asked = (await agent.messages()).find((message) =>
    message.content.some((block) => block.type === 'tool_use'),
  );
  const thinks = options.enableThinking || options.thinkingBudget;
  expect(asked?.content).toMatchObject([
    ...(thinks ? [{ type: 'thinking', thinking: 'Let me think.' }] : []),
    { type: 'tool_use', name: 'weather', input: { city: '東京' } },
    { type: 'tool_use', name: 'weather', input: { city: 'Paris' } },
  ]);
});

test('dashscope() sends the body to the right service, with key and headers', async () => {
  const apiKey = vi.fn(async () => ' key-1\n');
  const request = { messages: [userMessage('東京')], maxTokens: 9, providerOptions: { seed: 1 } };
  const options = {
    apiKey,
    headers: { 'x-team': 'a' },
    baseURL: `${inject('providerUrl')}/dashscope/echo/api/v1/`,
  };
  expect(await echoed(request, options)).toMatchObject({
    path: '/dashscope/echo/api/v1/services/aigc/text-generation/generation',
    headers: {
      authorization: 'Bearer key-1',
      'x-team': 'a',
      'x-dashscope-sse': 'enable',
      'content-type': 'application/json',
    },
    body: {
      model: 'qwen-plus',
      input: { messages: [{ role: 'user', content: '東京' }] },
      parameters: { result_format: 'message', incremental_output: true, max_tokens: 9, seed: 1 },
    },
  });
  expect(apiKey).toHaveBeenCalledTimes(1);
});

test('media go to the multimodal service if the model supports them, and are sent as text otherwise', async () => {
  const messages = [
    systemMessage('Be brief.'),
    userMessage([image, { type: 'text', text: 'What is it?' }]),
  ];
  const seeing = await echoed({ messages }, { features: { media: ['image'] } });
  expect(seeing.path).toMatch(/\/services\/aigc\/multimodal-generation\/generation$/);
  expect(seeing.body.input.messages).toEqual([
    { role: 'system', content: [{ text: 'Be brief.' }] },
    { role: 'user', content: [{ image: 'data:image/png;base64,QUJD' }, { text: 'What is it?' }] },
  ]);
  const blind = await echoed({ messages });
  expect(blind.path).toMatch(/\/text-generation\/generation$/);
  expect(blind.body.input.messages.at(-1)).toEqual({
    role: 'user',
    content: '[image: image/png]\nWhat is it?',
  });
});

test('the name of a model determines which media it supports', () => {
  const mediaOf = (model: string): readonly string[] => dashscope({ model }).features.media;
  expect(mediaOf('qwen-plus')).toEqual([]);
  expect(mediaOf('qwen3-max')).toEqual([]);
  for (const model of ['qwen-vl-max', 'qwen3-vl-plus', 'qvq-max', 'qwen3.6-plus'])
    expect(mediaOf(model)).toEqual(['image', 'video']);
  expect(mediaOf('qwen3-omni-flash')).toEqual(['image', 'video', 'audio']);
  expect(mediaOf('qwen-audio-turbo')).toEqual(['audio']);
});

test('`endpoint` overrides the service that the model’s name determines', async () => {
  expect((await echoed({}, { endpoint: 'multimodal' })).path).toMatch(
    /\/multimodal-generation\/generation$/,
  );
  expect((await echoed({}, { model: 'qwen3.6-text', endpoint: 'text' })).path).toMatch(
    /\/text-generation\/generation$/,
  );
});

test('dashscope() accepts a server that does not stream, and a server that sends byte by byte', async () => {
  const { text, finish } = await outcomeOf(
    at('scripted', { headers: { 'x-dashscope-sse': 'disable' } }),
    {
      providerOptions: { script: ['Yes.'] },
    },
  );
  expect([text, finish?.reason]).toEqual(['Yes.', 'stop']);
  expect((await outcomeOf(at('bytewise'))).text).toBe('Hello, 世界.');
});

test.each<[fault: string, code: AgentErrorCode, retryable: boolean, words: string]>([
  ['400', 'MODEL_REQUEST', false, 'temperature should be in'],
  ['401', 'MODEL_AUTH', false, 'Invalid API-key provided.'],
  ['429', 'MODEL_RATE_LIMITED', true, 'Requests rate limit exceeded'],
  ['500', 'MODEL_SERVER', true, 'An internal error'],
  ['input-length', 'MODEL_CONTEXT_LENGTH', false, 'Range of input length'],
  ['event-parameter', 'MODEL_REQUEST', false, 'Range of max_tokens'],
  ['event-input-length', 'MODEL_CONTEXT_LENGTH', false, 'Range of input length'],
  ['event-key', 'MODEL_AUTH', false, 'Invalid API-key provided.'],
  ['json-error', 'MODEL_REQUEST', false, 'Model not exist.'],
  ['no-such-route', 'MODEL_REQUEST', false, 'Nothing at no-such-route.'],
])(
  'the fault %s before the reply is an error with code %s',
  async (fault, code, retryable, words) => {
    const { text, error } = await outcomeOf(at(fault));
    expect([text, error?.code, error?.retryable]).toEqual(['', code, retryable]);
    expect(error?.message).toContain(words);
    expect(error?.details?.['providerCode']).toMatch(/^[A-Z]\w+/);
  },
);

test.each<[fault: string, code: AgentErrorCode, retryable: boolean, words: string]>([
  ['event-throttling', 'MODEL_RATE_LIMITED', true, 'Allocated quota exceeded.'],
  ['event-inspection', 'MODEL_REQUEST', false, 'inappropriate content'],
  ['event-timeout', 'MODEL_TIMEOUT', true, 'Request timed out'],
  ['event-server', 'MODEL_SERVER', true, 'inference internal error'],
  ['unnamed-error', 'MODEL_SERVER', true, 'An internal error has occured.'],
  ['malformed', 'MODEL_BAD_RESPONSE', false, 'malformed: {"output":{"choices":[{"mess'],
  ['cut-clean', 'MODEL_BAD_RESPONSE', true, 'ended early: {"output"'],
])(
  'the fault %s within the reply is an error with code %s, after the text before the fault',
  async (fault, code, retryable, words) => {
    const { text, error, finish } = await outcomeOf(at(fault, { timeoutMs: Infinity }));
    expect([error?.code, error?.retryable]).toEqual([code, retryable]);
    expect(text).toMatch(/^Hello, /);
    expect(finish).toBeUndefined();
    expect(error?.message).toContain(words);
  },
);

test('an abort while the server sends nothing ends the wait and closes the connection', async () => {
  expect(await abortHanging((headers) => at('hang-mid', { headers }))).toEqual({
    error: expect.objectContaining({ code: 'ABORTED', cause: 'enough', retryable: false }),
    departed: true,
  });
});

test('the connection is closed when the reader stops reading', async () => {
  const hanging = leaveHanging((headers) => at('hang-mid', { headers }));
  expect(await hanging).toEqual({ departed: true });
});

test('an API key that the server quotes is removed from the error', async () => {
  const apiKey = 'sk-secret-0123456789';
  const body = `event:error\ndata:{"code":"InvalidApiKey","message":"Wrong key ${apiKey} given"}\n\n`;
  const { error } = await outcomeOf(at('-', { apiKey, fetch: async () => new Response(body) }));
  expect([error?.code, error?.message]).toEqual([
    'MODEL_AUTH',
    'The model server reported an error: Wrong key *** given',
  ]);
  expect((await outcomeOf(at('-', { apiKey: `${apiKey}\n東京` }))).error).toMatchObject({
    code: 'CONFIGURATION',
  });
});

test.each<[problem: string, options: Partial<DashScopeOptions>]>([
  ['enableThinking is false', { enableThinking: false, thinkingBudget: 5 }],
  ['got 0', { thinkingBudget: 0 }],
  ['got 1.5', { thinkingBudget: 1.5 }],
  ['got NaN', { thinkingBudget: NaN }],
])('dashscope() rejects invalid options: %s', (words, options) => {
  expect(() => at('scripted', options)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(words) }),
  );
});

test('a provider option that breaks the protocol is rejected before anything is sent', async () => {
  const send = vi.fn(async () => new Response(''));
  const { error } = await outcomeOf(at('echo', { fetch: send }), {
    providerOptions: { incremental_output: false },
  });
  expect(error).toMatchObject({ code: 'INVALID_INPUT' });
  expect(send).not.toHaveBeenCalled();
});

const talk: readonly Msg[] = [
  ...talkOfSeveral,
  createMessage('user', [{ type: 'text', text: 'And this?' }, image], { name: 'Ann' }),
];

test('with multiAgent(), dashscope() sends the turns of several agents as one history', async () => {
  const model = multiAgent(at('echo', { features: { media: ['image'] } }), { header: 'So far:' });
  const { body } = JSON.parse((await outcomeOf(model, { messages: talk })).text);
  expect(body.input.messages).toEqual([
    { role: 'system', content: [{ text: 'You are Cal.' }] },
    { role: 'user', content: [{ text: 'So far:\n<history>\nAnn: Warm?\n</history>' }] },
    {
      role: 'assistant',
      content: [{ text: '' }],
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"東京"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', name: 'weather', content: [{ text: 'sun' }] },
    {
      role: 'user',
      content: [
        { text: '<history>\nBob: Sun in 東京.\nAnn: And this?\nAnn: [image]' },
        { image: 'data:image/png;base64,QUJD' },
        { text: '</history>' },
      ],
    },
  ]);
});

test('with multiAgent(), the log keeps the turns of several agents, and the model gets one history', async () => {
  const agent = new ReActAgent({ name: 'Cal', model: multiAgent(at('echo')), tools: [] });
  await agent.observe([
    assistantMessage('Hi.', { name: 'Ann' }),
    assistantMessage('Hi!', { name: 'Bob' }),
  ]);
  const { text } = await agent.call(userMessage('Who is here?', { name: 'Dan' }));
  const { body } = JSON.parse(text);
  expect(body.input.messages).toHaveLength(1);
  expect(body.input.messages[0].content).toMatch(
    /<history>\nAnn: Hi\.\nBob: Hi!\nDan: Who is here\?\n<\/history>$/,
  );
  expect((await agent.messages()).slice(0, 3).map((message) => textOf(message))).toEqual([
    'Hi.',
    'Hi!',
    'Who is here?',
  ]);
});
