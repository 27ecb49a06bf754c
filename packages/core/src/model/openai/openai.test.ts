/// <reference path="../../../../../test/provider-server/provided-context.d.ts" />
import { expect, inject, test } from 'vitest';
import goldenText from '@test/fixtures/golden/openai-replies.json?raw';
import { multiAgent } from '../formatter/multi-agent.ts';
import { userMessage, type Msg } from '../../message/msg.ts';
import type { ChatModel, ModelRequest } from '../chat-model.ts';
import { openai, type OpenAiOptions } from './openai.ts';
import { goldenForm, outcomeOf, talkOfSeveral } from '@test/support/model-outcome.ts';
import * as z from 'zod';
import { openaiResponses } from '../responses/openai-responses.ts';
import type { AgentHook } from '../../agent/middleware.ts';
import type { AgentOptions } from '../../react-agent/agent-options.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { tool } from '../../tool/tool.ts';
import type { Fetch } from '../http/http-model.ts';

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

// Servers refuse a whole request for one field.

type Body = Readonly<Record<string, unknown>>;

const answers = {
  chat: 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
  responses: `data: ${JSON.stringify({
    type: 'response.completed',
    response: { id: 'r', status: 'completed', output: [] },
  })}\n\n`,
};

/** Returns the body that each kind of model sends for these options of an agent. */
async function bodiesOf(options: Partial<AgentOptions>): Promise<readonly Body[]> {
  const bodies: Body[] = [];
  for (const model of [
    openai({ model: 'm', fetch: fetchTo(bodies, answers.chat) }),
    openaiResponses({ model: 'm', fetch: fetchTo(bodies, answers.responses) }),
  ])
    await new ReActAgent({ name: 'a', model, ...options }).call('Hi');
  return bodies;
}

function fetchTo(bodies: Body[], answer: string): Fetch {
  return async (_url, init) => {
    bodies.push(JSON.parse(String(init.body)) as Body);
    return new Response(answer, { headers: { 'content-type': 'text/event-stream' } });
  };
}

const providerOptions = { parallel_tool_calls: false, tool_choice: 'auto' };
const clock = tool({ name: 'clock', description: '', input: z.object({}), execute: () => '' });

test('a request without tools says nothing about tool calls', async () => {
  for (const body of await bodiesOf({ generate: { providerOptions } })) {
    expect(body).not.toHaveProperty('parallel_tool_calls');
    expect(body).not.toHaveProperty('tool_choice');
  }
  for (const body of await bodiesOf({ generate: { providerOptions }, tools: [clock] }))
    expect(body).toMatchObject(providerOptions);
});

test('a tool without a description is described by its name', async () => {
  const [chat, responses] = await bodiesOf({ tools: [clock] });
  expect(chat).toMatchObject({ tools: [{ function: { name: 'clock', description: 'clock' } }] });
  expect(responses).toMatchObject({ tools: [{ name: 'clock', description: 'clock' }] });
});

test('Mistral gets the seed under its own name', async () => {
  const generate = { seed: 7 };
  const bodies: Body[] = [];
  const fetch = fetchTo(bodies, answers.chat);
  const baseURL = 'https://api.mistral.ai/v1';
  const mistral = openai({ model: 'mistral-large-latest', baseURL, fetch });
  const other = openai({ model: 'm', fetch });
  for (const model of [mistral, other])
    await new ReActAgent({ name: 'a', model, generate }).call('Hi');
  expect(bodies.map(({ seed, random_seed: randomSeed }) => [seed, randomSeed])).toEqual([
    [undefined, 7],
    [7, undefined],
  ]);
});

test('Mistral gets a message of the user after a reply that a hook asks to continue', async () => {
  const bodies: Body[] = [];
  const fetch = fetchTo(bodies, answers.chat);
  const baseURL = 'https://api.mistral.ai/v1';
  const model = openai({ model: 'mistral-large-latest', baseURL, fetch });
  const again: AgentHook = {
    on: {
      'post-reasoning': ({ iteration, gotoReasoning }) => {
        if (iteration === 1) gotoReasoning([]);
      },
    },
  };
  await new ReActAgent({ name: 'a', model, use: [again] }).call('Hi');
  expect(bodies[1]!['messages']).toEqual([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hi' },
    { role: 'user', content: 'Continue.' },
  ]);
});

test('Bedrock gets a tool if the history has calls and the request has no tools', async () => {
  const bodies: Body[] = [];
  const toolCalls = [{ id: 'c1', type: 'function', function: { name: 'clock', arguments: '{}' } }];
  const calling = JSON.stringify({
    choices: [{ message: { tool_calls: toolCalls }, finish_reason: 'tool_calls' }],
  });
  const fetch: Fetch = async (url, init) =>
    fetchTo(bodies, bodies.length % 2 ? answers.chat : `data: ${calling}\n\n`)(url, init);
  const namesFor = async (model: string) => {
    const limits = { iterations: 1 };
    const agent = new ReActAgent({
      name: 'a',
      model: openai({ model, baseURL: 'http://litellm.test/v1', fetch }),
      tools: [clock],
      limits,
    });
    await agent.call('Hi');
    return bodies.slice(-2).map(({ tools = [] }) => (tools as WireTool[]).map(nameOf));
  };
  expect(await namesFor('bedrock-claude-sonnet-5')).toEqual([['clock'], ['no_tool']]);
  expect(await namesFor('gpt-4o')).toEqual([['clock'], []]);
});

interface WireTool {
  readonly function: { readonly name: string };
}

const nameOf = (wireTool: WireTool): string => wireTool.function.name;
