import { MemoryStore, tool } from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import type OpenAI from 'openai';
import { openAiRoutes } from '../../openai.ts';
import { storeSessions } from '../../store.ts';
import { describe, expect, test } from 'vitest';
import { boundEndpoint, places, type Bound } from '../../../test-support/both-bindings.ts';
import { testEndpoint } from '../../../test-support/endpoint.ts';
import type { ClientSetting } from '../../completions/model-settings.ts';

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

const refusal = (param: string): object => ({
  status: 400,
  code: 'INVALID_INPUT',
  type: 'invalid_request_error',
  param,
  message: expect.stringContaining(`\`${param}\``),
});

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
    { background: true },
    { frequency_penalty: 1 },
    { functions: [{ name: 'f' }] },
    { logit_bias: { 50256: -100 } },
    { logprobs: true },
    { modalities: ['text', 'audio'] },
    { n: 2 },
    { presence_penalty: -1 },
    { reasoning_effort: 'high' },
    { service_tier: 'flex' },
    { temperature: 3 },
    { top_k: 40 },
    { top_p: 0.5 },
    { top_p: 1.5 },
    { truncation: 'auto' },
    { verbosity: 'low' },
    { web_search_options: {} },
    { constructor: 1 },
  ])('a field that would change the answer is refused: %j', async (more) => {
    const target = testEndpoint(['Never.']);
    const [param] = Object.keys(more);
    await expect(ask(target.client(), more)).rejects.toMatchObject(refusal(param!));
    expect(target.model.requests).toEqual([]);
  });

  test.each<[more: object, name: ClientSetting]>([
    [{ temperature: 0.5 }, 'temperature'],
    [{ top_p: 0.5 }, 'topP'],
  ])('%j reaches the model only if clientSettings names %s', async (more, name) => {
    const [[param, value]] = Object.entries(more) as [[string, number]];
    const closed = testEndpoint(['Never.'], {}, { openai: openAiRoutes({ clientSettings: [] }) });
    await expect(ask(closed.client(), more)).rejects.toMatchObject({
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
    await expect(ask(client, { temperature: 0 })).rejects.toMatchObject(refusal('temperature'));
    await ask(client);
    expect(target.model.requests.map(({ topP }) => topP)).toEqual([0.25, undefined]);
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
  for (const [param, value] of [
    ['seed', 7],
    ['stop', 'END'],
  ] as const)
    await expect(askChat(closed.client(), { [param]: value })).rejects.toMatchObject(
      refusal(param),
    );
  await askChat(closed.client(), { stop: [] });
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

test('chat completions refuse `store: true`, because nothing would be stored', async () => {
  const target = testEndpoint([]);
  await expect(askChat(target.client(), { store: true })).rejects.toMatchObject(refusal('store'));
});

test('without thinking, a request for reasoning summaries is refused', async () => {
  const target = testEndpoint(['ok'], {}, { openai: openAiRoutes({ thinking: false }) });
  const reasoning = { summary: 'auto' };
  await expect(askResponse(target.client(), { reasoning })).rejects.toMatchObject(
    refusal('reasoning.summary'),
  );
  await askResponse(target.client(), { reasoning: { summary: null } });
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
