import { expect, test } from 'vitest';
import type { JsonObject } from '../../message/json.ts';
import { userMessage } from '../../message/msg.ts';
import { arcReactor } from '@isoloop/presets';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { fromAiSdk } from '../ai-sdk/ai-sdk-model.ts';
import type { ChatModel, ModelRequest } from '../chat-model.ts';
import { answeringFetch } from '../../testing/answering-fetch.ts';
import { openaiResponses, type OpenAiResponsesOptions } from '../responses/openai-responses.ts';
import { openai } from '../openai/openai.ts';

// A server refuses a whole request for a setting that its model does not have.

/** What reaches the server or the model of AI SDK: the body of a request, or its call options. */
type Sent = Readonly<Record<string, unknown>>;

const answers = {
  chat: 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
  responses: `data: ${JSON.stringify({
    type: 'response.completed',
    response: { id: 'r', status: 'completed', output: [] },
  })}\n\n`,
};

const sentIn = (bodies: readonly string[]): readonly Sent[] =>
  bodies.map((body) => JSON.parse(body) as Sent);

function aiSdkModel(modelId: string, sent: Sent[]): ChatModel {
  const doStream = async (call: Sent) => {
    sent.push(call);
    const finish = {
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: { inputTokens: {}, outputTokens: {} },
    };
    return { stream: new Blob([]).stream().pipeThrough(only(finish)) };
  };
  const model = { specificationVersion: 'v3', provider: 'openai', modelId, supportedUrls: {} };
  return fromAiSdk({ ...model, doStream } as never);
}

/** Returns a stream that gives one part at its end. */
function only(part: object): TransformStream<unknown, object> {
  return new TransformStream({ flush: (controller) => controller.enqueue(part) });
}

interface SentOptions {
  readonly reasoning?: NonNullable<OpenAiResponsesOptions['reasoning']>;
  /** The kinds of models to ask. Default: all three. */
  readonly kinds?: readonly ('chat' | 'responses' | 'ai-sdk')[];
}

/** Returns a request's settings as each kind of model sends them. */
async function sentBy(
  model: string,
  request: Partial<ModelRequest>,
  { reasoning, kinds = ['chat', 'responses', 'ai-sdk'] }: SentOptions = {},
): Promise<readonly Sent[]> {
  const chat = answeringFetch([answers.chat]);
  const responses = answeringFetch([answers.responses]);
  const aiSdk: Sent[] = [];
  const models = {
    chat: openai({ model, fetch: chat.fetch }),
    responses: openaiResponses({ model, fetch: responses.fetch, ...(reasoning && { reasoning }) }),
    'ai-sdk': aiSdkModel(model, aiSdk),
  };
  for (const one of kinds.map((kind) => models[kind])) {
    const whole = { messages: [userMessage('Hi')], tools: [], ...request };
    const context = { signal: new AbortController().signal };
    for await (const _deltas of one.stream(whole, context));
  }
  return [...sentIn(chat.bodies), ...sentIn(responses.bodies), ...aiSdk];
}

const settings = { temperature: 0.3, topP: 0.9 };
const names = /^(?:temperature|top_?p)$/i;
const settingsIn = (body: Sent): readonly unknown[] =>
  Object.entries(body).flatMap(([key, value]) =>
    names.test(key) && value !== undefined ? [value] : [],
  );

test.each([
  'gpt-5',
  'gpt-5-mini',
  'gpt-5-nano-2025-08-07',
  'gpt-5-codex',
  'gpt-5.4',
  'o1',
  'o3-mini',
  'o4-mini-2025-04-16',
  'openai/gpt-5-mini',
  'ft:o4-mini-2025-04-16:acme::x',
  'claude-opus-4-7',
  'anthropic/claude-opus-4.8',
  'us.anthropic.claude-opus-4-7-v1:0',
  'kimi-k2.5',
  'moonshotai/kimi-k2.6',
])('%s gets neither temperature nor top_p, because it refuses them', async (model) => {
  const sent = await sentBy(model, settings);
  expect(sent.map(settingsIn)).toEqual([[], [], []]);
});

test.each([
  'gpt-4.1-mini',
  'gpt-4o',
  'gpt-5-chat-latest',
  'gpt-5.1-chat-latest',
  'gpt-50',
  'gpt-oss-20b',
  'claude-opus-4-5',
  'claude-sonnet-4',
  'claude-opus-4-20250514',
  'kimi-k2-thinking',
  'qwen3',
  'phi-o1',
  'olmo',
])('%s gets temperature and top_p', async (model) => {
  const sent = await sentBy(model, settings);
  expect(sent.map(settingsIn)).toEqual([
    [0.3, 0.9],
    [0.3, 0.9],
    [0.3, 0.9],
  ]);
});

test.each([
  ['gpt-5.4', [0.3, 0.9]],
  ['gpt-5', []],
  ['o3', []],
])('without thinking, %s gets %j', async (model, values) => {
  const chatOptions: JsonObject = { reasoning_effort: 'none' };
  const aiSdkOptions: JsonObject = { openai: { reasoningEffort: 'none' } };
  const sent = [
    await sentBy(model, { ...settings, providerOptions: chatOptions }, { kinds: ['chat'] }),
    await sentBy(model, settings, { reasoning: { effort: 'none' }, kinds: ['responses'] }),
    await sentBy(model, { ...settings, providerOptions: aiSdkOptions }, { kinds: ['ai-sdk'] }),
  ];
  expect(sent.flat().map(settingsIn)).toEqual([values, values, values]);
});

test('providerOptions send a setting to every model of a server', async () => {
  const { bodies, fetch } = answeringFetch([answers.chat]);
  const model = openai({ model: 'gpt-5-mini', baseURL: 'https://gateway.test/v1', fetch });
  const providerOptions = { temperature: 0.3, top_p: 0.9 };
  const agent = new ReActAgent({ name: 'a', model, generate: { providerOptions } });
  await agent.call('Hi');
  expect(sentIn(bodies).map(settingsIn)).toEqual([[0.3, 0.9]]);
});

test('arcReactor() works with gpt-5-mini, which refuses its temperature', async () => {
  const { bodies, fetch } = answeringFetch([answers.chat]);
  const model = openai({ model: 'gpt-5-mini', fetch });
  const agent = new ReActAgent({ name: 'a', model, use: [arcReactor()] });
  expect((await agent.call('Hi')).text).toBe('Hi');
  const [sent] = sentIn(bodies);
  expect(sent).toMatchObject({ max_completion_tokens: 4096 });
  expect(sent).not.toHaveProperty('temperature');
});

test.each(['claude-sonnet-4-5-20250929', 'anthropic/claude-sonnet-4.6', 'claude-opus-4-1'])(
  '%s gets one of temperature and top_p',
  async (model) => {
    const both = await sentBy(model, settings);
    expect(both.map(settingsIn)).toEqual([[0.3], [0.3], [0.3]]);
    const one = await sentBy(model, { topP: 0.9 });
    expect(one.map(settingsIn)).toEqual([[0.9], [0.9], [0.9]]);
  },
);

test.each([
  ['gpt-5.2', undefined],
  ['openai/o4-mini', undefined],
  ['gpt-4.1', ['X']],
  ['gpt-5-chat-latest', ['X']],
  ['claude-opus-4-7', ['X']],
])('%s gets the stop sequences %j', async (model, stop) => {
  const sent = await sentBy(model, { stop: ['X'] }, { kinds: ['chat', 'ai-sdk'] });
  expect(sent.map((one) => one['stop'] ?? one['stopSequences'])).toEqual([stop, stop]);
});
