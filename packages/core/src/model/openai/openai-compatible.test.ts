/// <reference path="../../../../../test/provider-server/provided-context.d.ts" />
import { expect, inject, test } from 'vitest';
import goldenText from '@test/fixtures/golden/openai-replies.json?raw';
import { multiAgent } from '../formatter/multi-agent.ts';
import { userMessage, type Msg } from '../../message/msg.ts';
import type { ChatModel, ModelRequest } from '../chat-model.ts';
import { openai, type OpenAiOptions } from './openai.ts';
import { goldenForm, outcomeOf, talkOfSeveral } from '@test/support/model-outcome.ts';

const golden = JSON.parse(goldenText) as Record<string, Record<string, unknown>>;

const compatible = (path: string, options: Partial<OpenAiOptions> = {}): ChatModel =>
  openai({ model: 'qwen3-max', baseURL: `${inject('providerUrl')}${path}/v1`, ...options });

const echoed = async (model: ChatModel, request: Partial<ModelRequest>) =>
  JSON.parse((await outcomeOf(model, request)).text).body;

test.each(['alibaba-reasoning', 'alibaba-tool-call'])(
  'openai() reads the recorded stream %s of DashScope’s compatible mode',
  async (name) => {
    const outcome = await outcomeOf(compatible(`/replay/${name}`));
    expect(goldenForm(outcome)).toEqual(golden[name]);
  },
);

test('provider options turn thinking on in the compatible mode', async () => {
  const request = {
    messages: [userMessage('Hi')],
    maxTokens: 50,
    providerOptions: { enable_thinking: true, thinking_budget: 100 },
  };
  expect(await echoed(compatible('/echo'), request)).toEqual({
    model: 'qwen3-max',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 50,
    enable_thinking: true,
    thinking_budget: 100,
  });
});

const talk: readonly Msg[] = [
  ...talkOfSeveral,
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
