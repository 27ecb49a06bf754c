import { AgentError, MemoryStore, tool } from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import type OpenAI from 'openai';
import { openAiRoutes } from '../index.ts';
import { storeSessions } from '../../../edge/src/store/index.ts';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { boundEndpoint, places, type Bound } from '../../../edge/test-support/both-bindings.ts';
import { testEndpoint, type TestEndpoint } from '../../../edge/test-support/endpoint.ts';
import { apiFields, sharedFields } from './field-table.ts';
import type { ClientSetting } from './model-settings.ts';

// The rules for the fields of a request are the same for chat completions and the Responses API.

interface Answer {
  readonly text: string;
  readonly thinking: string;
}

type Ask = (client: OpenAI, more?: object, stream?: boolean) => Promise<Answer>;

const askChat: Ask = async (client, more, stream = false) => {
  const body = { model: 'offline', messages: [{ role: 'user', content: 'Hi' }], ...more } as const;
  const params = body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
  const thinkingIn = (from: unknown): string =>
    (from as { readonly reasoning_content?: string }).reasoning_content ?? '';
  if (!stream) {
    const { message } = (await client.chat.completions.create(params)).choices[0]!;
    return { text: message.content ?? '', thinking: thinkingIn(message) };
  }
  let [text, thinking] = ['', ''];
  for await (const { choices } of await client.chat.completions.create({
    ...params,
    stream: true,
  })) {
    text += choices[0]?.delta.content ?? '';
    thinking += thinkingIn(choices[0]?.delta ?? {});
  }
  return { text, thinking };
};

const askResponse: Ask = async (client, more, stream = false) => {
  const body = { model: 'offline', input: 'Hi', ...more };
  const { output, output_text: text }: OpenAI.Responses.Response = stream
    ? await client.responses.stream(body).finalResponse()
    : await client.responses.create(body);
  const items = output.filter((item) => item.type === 'reasoning');
  const summaries = items.flatMap(({ summary }) => summary.map((part) => part.text));
  return { text, thinking: summaries.join('\n\n') };
};

const routes: readonly (readonly [route: string, ask: Ask])[] = [
  ['chat completions', askChat],
  ['responses', askResponse],
];

const forcedTool = { type: 'function', function: { name: 'absent' } };

const refusal = (param: string): object => ({
  status: 400,
  code: 'INVALID_INPUT',
  type: 'invalid_request_error',
  param,
  message: expect.stringContaining(`\`${param}\``),
});

/** Returns a list that gets the header with the ignored fields of each later answer. */
function readsIgnored(target: TestEndpoint): readonly (string | null)[] {
  const seen: (string | null)[] = [];
  const { fetch } = target.handler;
  vi.spyOn(target.handler, 'fetch').mockImplementation(async (...args) => {
    const response = await fetch(...args);
    seen.push(response.headers.get('x-isoloop-ignored'));
    return response;
  });
  return seen;
}

/** Values that change nothing. Clients that send every field send them. */
const neutral = {
  background: false,
  frequency_penalty: 0,
  functions: [],
  logit_bias: {},
  logprobs: false,
  metadata: { ticket: '7' },
  modalities: ['text'],
  n: 1,
  parallel_tool_calls: true,
  prediction: { type: 'content', content: 'Hello' },
  presence_penalty: 0,
  prompt_cache_key: 'k',
  safety_identifier: 's',
  service_tier: 'auto',
  store: false,
  temperature: 1,
  tool_choice: 'auto',
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: 'u',
  verbosity: 'medium',
};

describe.each(routes)('%s', (_route, ask) => {
  test('values that change nothing are accepted, and none of them reaches the model', async () => {
    const target = testEndpoint(['ok', 'ok'], {}, { openai: openAiRoutes({ clientSettings: [] }) });
    expect(await ask(target.client(), neutral)).toMatchObject({ text: 'ok' });
    const nothing = Object.fromEntries(Object.keys(neutral).map((field) => [field, null]));
    expect(await ask(target.client(), { ...nothing, top_k: null })).toMatchObject({ text: 'ok' });
    for (const { messages, tools, ...options } of target.model.requests)
      expect([messages.length, tools, options]).toEqual([1, [], {}]);
  });

  test.each<object>([
    { audio: { voice: 'alloy' } },
    { background: true },
    { conversation: 'conv_1' },
    { function_call: { name: 'f' } },
    { functions: [{ name: 'f' }] },
    { logit_bias: { 50256: -100 } },
    { logprobs: true },
    { max_tool_calls: 1 },
    { max_tokens: 0 },
    { modalities: ['text', 'audio'] },
    { n: 2 },
    { prompt: { id: 'p' } },
    { previous_response_id: 1 },
    { stop: 'END' },
    { stream_options: 1 },
    { temperature: 3 },
    { temperature: { toString: 'x' } },
    { tool_choice: 'required' },
    { tool_choice: { type: 'function', name: 'f', function: { name: 'f' } } },
    { top_logprobs: 2 },
  ])('a field on which a program may rely is refused: %j', async (more) => {
    const target = testEndpoint(['Never.']);
    const [param] = Object.keys(more);
    await expect(ask(target.client(), more)).rejects.toMatchObject(refusal(param!));
    expect(target.model.requests).toEqual([]);
  });

  test.each<object>([
    { chat_id: 'c' },
    { chat_template_kwargs: { enable_thinking: false } },
    { constructor: 1 },
    { enable_thinking: true },
    { frequency_penalty: 1 },
    { id: 'chat-1' },
    { min_p: 0.1 },
    { parallel_tool_calls: false },
    { presence_penalty: -1 },
    { provider: { order: ['a'] } },
    { reasoning_effort: 'high' },
    { seed: 7 },
    { seed: 'seven' },
    { service_tier: 'flex' },
    { session_id: 's' },
    { toString: 1 },
    { top_k: 40 },
    { top_p: 0.5 },
    { top_p: 1.5 },
    { truncation: 'auto' },
    { verbosity: 'low' },
    { web_search_options: {} },
  ])(
    'a field that only makes the answer better is ignored, or refused if strict: %j',
    async (more) => {
      const log = vi.spyOn(console, 'warn').mockImplementation(() => {});
      onTestFinished(() => log.mockRestore());
      const target = testEndpoint(['ok', 'ok']);
      const [param] = Object.keys(more);
      const seen = readsIgnored(target);
      expect(await ask(target.client(), more)).toMatchObject({ text: 'ok' });
      expect(await ask(target.client(), more, true)).toMatchObject({ text: 'ok' });
      expect(seen).toEqual([param, param]);
      expect(log.mock.calls).toEqual([[expect.stringContaining(`the field \`${param}\` of`)]]);
      expect(target.model.requests.map((request) => Object.keys(request))).toEqual([
        ['messages', 'tools'],
        ['messages', 'tools'],
      ]);
      const strict = testEndpoint(['Never.'], {}, { openai: openAiRoutes({ strict: true }) });
      await expect(ask(strict.client(), more)).rejects.toMatchObject(refusal(param!));
      expect(strict.model.requests).toEqual([]);
    },
  );

  test.each<[more: object, name: ClientSetting]>([
    [{ temperature: 0.5 }, 'temperature'],
    [{ top_p: 0.5 }, 'topP'],
  ])('%j reaches the model only if clientSettings names %s', async (more, name) => {
    const [[param, value]] = Object.entries(more) as [[string, number]];
    const closed = testEndpoint(['ok'], {}, { openai: openAiRoutes({ clientSettings: [] }) });
    await ask(closed.client(), more);
    expect(closed.model.requests[0]).not.toHaveProperty(name);
    const openai = openAiRoutes({ clientSettings: [], strict: true });
    const strict = testEndpoint(['Never.'], {}, { openai });
    await expect(ask(strict.client(), more)).rejects.toMatchObject({
      ...refusal(param),
      message: expect.stringContaining(`name ${name} in clientSettings of openAiRoutes()`),
    });
    const open = testEndpoint(
      ['ok', 'ok'],
      {},
      { openai: openAiRoutes({ clientSettings: [name] }) },
    );
    await ask(open.client(), more);
    await ask(open.client(), { [param]: 1 });
    const settings = open.model.requests.map((request) => request[name]);
    expect(settings).toEqual([value, 1]);
  });

  test('a setting also reaches the model in a session, whose turns are queued', async () => {
    const options = {
      store: storeSessions(new MemoryStore()),
      openai: openAiRoutes({ clientSettings: ['topP', 'maxTokens'] }),
    };
    const target = testEndpoint(['One.', 'Two.'], {}, options);
    const client = target.client('ann', { 'x-isoloop-session': crypto.randomUUID() });
    await ask(client, { top_p: 0.25 });
    await ask(client, { temperature: 0 });
    expect(target.model.requests.map(({ topP, temperature }) => [topP, temperature])).toEqual([
      [0.25, undefined],
      [undefined, undefined],
    ]);
  });

  const clock = tool({
    name: 'clock',
    description: 'The time',
    input: { type: 'object' },
    execute: () => '12:00',
  });
  const thinks: ScriptedReply = { thinking: 'It is noon.', text: 'Noon.' };

  test.each([undefined, true, false])(
    'thinking is shown alike in a stream and in a whole answer (option `thinking`: %s)',
    async (thinking) => {
      const openai = openAiRoutes(thinking === undefined ? {} : { thinking });
      const options = { openai };
      const target = testEndpoint([thinks, thinks], {}, options);
      const shown = { text: 'Noon.', thinking: thinking === false ? '' : 'It is noon.' };
      expect(await ask(target.client(), {}, false)).toEqual(shown);
      expect(await ask(target.client(), {}, true)).toEqual(shown);
    },
  );

  test.each(places)('%s: the thinking of an answer in a session is shown alike', async (place) => {
    for (const thinking of [true, false]) {
      const replies = [{ toolCalls: [{ name: 'clock' }] }, thinks, thinks];
      const bound: Bound = boundEndpoint(
        place,
        replies,
        { tools: [clock] },
        { openai: openAiRoutes({ thinking }) },
      );
      const client = bound.client(undefined, { 'x-isoloop-session': bound.id });
      const shown = { text: 'Noon.', thinking: thinking ? 'It is noon.' : '' };
      expect(await ask(client, {}, true)).toEqual(shown);
      expect(await ask(client, {}, false)).toEqual(shown);
    }
  });
});

test('a client’s seed and texts that end a reply reach the model if clientSettings names them', async () => {
  const closed = testEndpoint(['ok'], {}, {});
  await expect(askChat(closed.client(), { stop: 'END' })).rejects.toMatchObject({
    ...refusal('stop'),
    message: expect.stringContaining('name stop in clientSettings of openAiRoutes()'),
  });
  await askChat(closed.client(), { stop: [], seed: 7 });
  expect(closed.model.requests[0]).not.toHaveProperty('seed');
  const open = testEndpoint(
    ['ok', 'ok'],
    {},
    { openai: openAiRoutes({ clientSettings: ['seed', 'stop'] }) },
  );
  await askChat(open.client(), { seed: 7, stop: 'END' });
  await askChat(open.client(), { seed: -1, stop: ['END', '\n'] });
  expect(open.model.requests).toMatchObject([
    { seed: 7, stop: ['END'] },
    { seed: -1, stop: ['END', '\n'] },
  ]);
  for (const more of [{ seed: 0.5 }, { seed: '1' }, { stop: '' }, { stop: ['END', 1] }])
    await expect(askChat(open.client(), more)).rejects.toMatchObject(
      refusal(Object.keys(more)[0]!),
    );
});

test('chat completions ignore `store: true`, because nothing is stored', async () => {
  const target = testEndpoint(['ok']);
  const seen = readsIgnored(target);
  await askChat(target.client(), { store: true });
  expect(seen).toEqual(['store']);
});

test('without thinking, a request for reasoning summaries is ignored, also in what the response repeats', async () => {
  const target = testEndpoint(['ok', 'ok'], {}, { openai: openAiRoutes({ thinking: false }) });
  const seen = readsIgnored(target);
  const { reasoning } = await target.client().responses.create({
    model: 'offline',
    input: 'Hi',
    reasoning: { summary: 'auto' },
  });
  expect(reasoning).toEqual({ effort: null, summary: null });
  await askResponse(target.client(), { reasoning: { summary: null } });
  expect(seen).toEqual(['reasoning.summary', null]);
});

test('a response does not repeat settings that had no effect', async () => {
  const target = testEndpoint(['ok']);
  const seen = readsIgnored(target);
  const response = await target.client().responses.create({
    model: 'offline',
    input: 'Hi',
    top_p: 0.5,
    parallel_tool_calls: false,
    reasoning: { effort: 'high' },
    text: { verbosity: 'low' },
    include: ['web_search_call.action.sources'],
    stream_options: { include_obfuscation: true },
  });
  expect(response).toMatchObject({
    top_p: null,
    parallel_tool_calls: true,
    reasoning: { effort: null },
    text: { format: { type: 'text' } },
  });
  expect(response.text).not.toHaveProperty('verbosity');
  expect(seen[0]!.split(', ').toSorted()).toEqual([
    'include.web_search_call.action.sources',
    'parallel_tool_calls',
    'reasoning.effort',
    'stream_options.include_obfuscation',
    'text.verbosity',
    'top_p',
  ]);
});

test('options of a stream do not matter without a stream', async () => {
  const target = testEndpoint(['ok']);
  const more = { stream_options: { include_usage: true } };
  expect(await askChat(target.client(), more)).toMatchObject({ text: 'ok' });
});

test('the header and the log name at most 50 fields, and only plain names, and the log says so', async () => {
  const log = vi.spyOn(console, 'warn').mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  const target = testEndpoint(['ok', 'ok', 'ok', 'ok']);
  const seen = readsIgnored(target);
  await askChat(target.client(), { 'a\r\nx-evil: 1': 1, 字段: 1, ['n'.repeat(65)]: 1 });
  expect(seen).toEqual([null]);
  const fields = (prefix: string) =>
    Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`${prefix}${index}`, 1]));
  await askChat(target.client(), fields('a'));
  await askChat(target.client(), fields('b'));
  expect(seen.map((names) => names?.split(', ').length)).toEqual([undefined, 50, 50]);
  await askChat(target.client(), { seed: 7 });
  expect(seen.at(-1)).toBe('seed');
  expect(log).toHaveBeenCalledTimes(51);
  expect(log).toHaveBeenLastCalledWith(expect.stringContaining('The log names no more'));
});

test('a page of another origin may read which fields were ignored', async () => {
  const target = testEndpoint(['ok'], {}, { cors: ['https://app.example'] });
  const response = await target.post(
    '/v1/chat/completions',
    { model: 'offline', messages: [{ role: 'user', content: 'Hi' }], top_k: 1 },
    'ann',
    { origin: 'https://app.example' },
  );
  expect(response.headers.get('x-isoloop-ignored')).toBe('top_k');
  expect(response.headers.get('access-control-expose-headers')).toContain('x-isoloop-ignored');
});

test.each(places)('%s: an answer in a session names the ignored fields', async (place) => {
  const bound = boundEndpoint(place, ['ok'], {}, {});
  const { response } = await bound
    .client(undefined, { 'x-isoloop-session': bound.id })
    .chat.completions.create({
      model: 'offline',
      messages: [{ role: 'user', content: 'Hi' }],
      seed: 7,
    })
    .withResponse();
  expect(response.headers.get('x-isoloop-ignored')).toBe('seed');
});

const failingRequests: readonly (readonly [what: string, status: number, more: object])[] = [
  ['a field with a wrong value', 400, { temperature: 'hot' }],
  ['messages that cannot be read', 400, { messages: [{ role: 'nobody', content: 'Hi' }] }],
  ['a forced tool that does not exist', 400, { tool_choice: forcedTool }],
  ['a model that fails', 502, {}],
];

test.each(failingRequests)(
  'an error answer names the ignored fields: %s',
  async (_, status, more) => {
    const target = testEndpoint([{ error: new AgentError('MODEL_BAD_RESPONSE', 'Broken.') }]);
    const messages = [{ role: 'user', content: 'Hi' }];
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      const body = { model: 'offline', messages, seed: 7, ...more };
      const { messages: input, ...others } = body;
      const sent = path.endsWith('responses') ? { ...others, input } : body;
      const response = await target.post(path, sent);
      expect(response.status).toBe(status);
      expect(response.headers.get('x-isoloop-ignored')).toBe('seed');
    }
  },
);

const oddValues: readonly unknown[] = [
  true,
  false,
  -1,
  1e300,
  'x',
  '',
  [],
  [null],
  ['x'],
  [{}],
  {},
  { toString: 'x' },
  { valueOf: 1, toString: null },
  { type: 'function' },
  { type: 'json_schema', name: 'a', schema: {} },
  { format: { type: 'json_schema', name: 'a', schema: { type: 1 } } },
];

test.each([
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['/v1/responses', { input: 'Hi' }],
])('%s: no value of any field is a fault of the endpoint', async (path, base) => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const failures: string[] = [];
  const settings = ['maxTokens', 'temperature', 'topP', 'seed', 'stop'] as const;
  const openai = openAiRoutes({ clientSettings: settings });
  const names = Object.keys({ ...sharedFields, ...apiFields.completions, ...apiFields.responses });
  for (const field of [...names, 'top_k', '__proto__'])
    for (const value of oddValues) {
      const target = testEndpoint([{ text: '{}' }, { text: '{}' }], {}, { openai });
      const json = JSON.stringify({ model: 'offline', ...base });
      const odd = JSON.stringify(value);
      const body = `${json.slice(0, -1)},${JSON.stringify(field)}:${odd}}`;
      const response = await target.post(path, body);
      await response.text();
      const { status } = response;
      if (status >= 500 && status !== 502) failures.push(`${field} ${odd}: ${status}`);
    }
  vi.restoreAllMocks();
  expect(failures).toEqual([]);
});

test('a client may send the thinking of an earlier answer back', async () => {
  const target = testEndpoint(['ok']);
  const messages = [
    { role: 'user', content: 'When?' },
    { role: 'assistant', content: 'Noon.', reasoning_content: 'It is noon.' },
    { role: 'user', content: 'Sure?' },
  ];
  expect(await askChat(target.client(), { messages })).toMatchObject({ text: 'ok' });
});

test.each([
  [
    { clientSettings: ['top_p'] },
    'clientSettings can only have maxTokens, temperature, topP, seed',
  ],
  [{ clientSettings: 'topP' }, 'clientSettings must be an array; got a string.'],
  [{ thinking: 'no' }, 'thinking must be a boolean; got a string.'],
])('openAiRoutes() refuses wrong values: %j', (options, problem) => {
  expect(() => openAiRoutes(options as object)).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining(`openAiRoutes(): ${problem}`),
    }),
  );
});
