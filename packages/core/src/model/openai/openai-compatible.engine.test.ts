/// <reference path="../../../../../test/provider-server/provided-context.d.ts" />
import { expect, inject, test } from 'vitest';
import goldenText from '../../../../../test/fixtures/golden/openai-replies.json?raw';
import { multiAgent } from '../multi-agent/multi-agent.ts';
import {
  assistantMessage,
  systemMessage,
  toolMessage,
  userMessage,
} from '../../message/create-message.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, ModelDelta, ModelRequest } from '../chat-model.ts';
import { openai, type OpenAiOptions } from '../../openai.ts';

const golden = JSON.parse(goldenText) as Record<string, Record<string, unknown>>;

const compatible = (path: string, options: Partial<OpenAiOptions> = {}): ChatModel =>
  openai({ model: 'qwen3-max', baseURL: `${inject('providerUrl')}${path}/v1`, ...options });

async function ask(
  model: ChatModel,
  request: Partial<ModelRequest> = {},
): Promise<Record<string, unknown>> {
  const outcome = {
    text: '',
    thinking: '',
    calls: [] as { id: string; name: string; input: string }[],
  };
  let end: Partial<ModelDelta> = {};
  const { signal } = new AbortController();
  for await (const batch of model.stream({ messages: [], tools: [], ...request }, { signal })) {
    for (const delta of batch) {
      if (delta.type === 'text' || delta.type === 'thinking') outcome[delta.type] += delta.delta;
      if (delta.type === 'finish')
        end = { reason: delta.reason, ...(delta.usage ? { usage: delta.usage } : {}) };
      if (delta.type !== 'tool-input') continue;
      const call = (outcome.calls[delta.index] ??= { id: '', name: '', input: '' });
      call.id += delta.id ?? '';
      call.name += delta.name ?? '';
      call.input += delta.delta;
    }
  }
  return { ...outcome, ...end };
}

const echoed = async (model: ChatModel, request: Partial<ModelRequest>) =>
  JSON.parse(String((await ask(model, request))['text'])).body;

test.each(['alibaba-reasoning', 'alibaba-tool-call'])(
  'openai() reads the recorded stream %s of DashScope’s compatible mode',
  async (name) => {
    const { model: _model, ...reply } = golden[name]!;
    expect(await ask(compatible(`/replay/${name}`))).toEqual(reply);
  },
);

test('provider options turn thinking on in the compatible mode', async () => {
  const request = {
    maxTokens: 50,
    providerOptions: { enable_thinking: true, thinking_budget: 100 },
  };
  expect(await echoed(compatible('/echo'), request)).toEqual({
    model: 'qwen3-max',
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 50,
    enable_thinking: true,
    thinking_budget: 100,
    messages: [],
  });
});

const talk: readonly Msg[] = [
  systemMessage('You are Cal.'),
  userMessage('Warm?', { name: 'Ann' }),
  assistantMessage([{ type: 'tool_use', id: 'c1', name: 'weather', input: { city: '東京' } }]),
  toolMessage({
    type: 'tool_result',
    toolUseId: 'c1',
    name: 'weather',
    output: 'sun',
    state: 'success',
  }),
  assistantMessage('Sun in 東京.', { name: 'Bob' }),
  userMessage(
    [
      { type: 'text', text: 'And this?' },
      { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
    ],
    { name: 'Ann' },
  ),
];

test('with multiAgent(), openai() sends the turns of several agents as one history', async () => {
  const { messages } = await echoed(multiAgent(compatible('/echo'), { header: 'So far:' }), {
    messages: talk,
  });
  expect(messages).toEqual([
    { role: 'system', content: 'You are Cal.' },
    { role: 'user', content: 'So far:\n<history>\nWarm?\n</history>' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"東京"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'sun' },
    {
      role: 'user',
      content: [
        {
          type: 'text',
          text: 'So far:\n<history>\nBob: Sun in 東京.\nAnn: And this?\nAnn: [image]',
        },
        { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
        { type: 'text', text: '</history>' },
      ],
    },
  ]);
});
