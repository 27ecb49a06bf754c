import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { createOpenAI } from '@ai-sdk/openai';
import { expect, test } from 'vitest';
import { httpProviders } from '@test/support/providers.ts';
import { unfinished } from '@test/support/wire-formats.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { AgentError } from '../../error/agent-error.ts';
import { retry } from '../../resilience/retry.ts';
import type { ChatModel, ModelDelta } from '../chat-model.ts';
import { openai } from '../openai/openai.ts';
import type { Fetch } from '../http/http-model.ts';
import type { ConformanceReply } from '../../testing/model-outcome.ts';
import { tool } from '../../tool/tool.ts';
import { fromAiSdk } from '../ai-sdk/ai-sdk-model.ts';

/** Arguments of the calls that a reply makes before its connection breaks. */
type Arguments = readonly string[];

interface Provider {
  readonly name: string;
  readonly model: (fetch: Fetch) => ChatModel;
  /** Returns the body of a reply with these calls, and without a finish reason. */
  readonly incomplete: (calls: Arguments) => string;
}

const event = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`;
const done = 'data: [DONE]\n\n';
const wireCall = (args: string, index: number) => ({
  index,
  id: `c${index}`,
  type: 'function',
  function: { name: 'act', arguments: args },
});
const chunks = (calls: Arguments): string =>
  calls.map((args, index) => chunkOf({ tool_calls: [wireCall(args, index)] })).join('');
const chunkOf = (delta: object, reason: string | null = null): string =>
  event({ id: 'r', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] });

/** A reply with these calls, in the format of a provider. */
const replyWith = (calls: Arguments): ConformanceReply => ({
  toolCalls: calls.map((args, index) => ({ id: `c${index}`, name: 'act', arguments: [args] })),
  finish: 'tool-calls',
});

const providers: readonly Provider[] = [
  ...httpProviders.map(({ name, model, wire }): Provider => ({
    name: `${name}(), end of the stream`,
    model: (fetch) => model({ model: 'm', apiKey: 'k', fetch }),
    incomplete: (calls) => unfinished(wire, replyWith(calls)).join(''),
  })),
  {
    name: 'openai(), [DONE]',
    model: (fetch) => openai({ model: 'm', apiKey: 'k', fetch }),
    incomplete: (calls) => chunks(calls) + done,
  },
  {
    name: 'openai(), a reply that is not streamed',
    model: (fetch) => openai({ model: 'm', apiKey: 'k', fetch }),
    incomplete: (calls) =>
      JSON.stringify({ choices: [{ index: 0, message: { tool_calls: calls.map(wireCall) } }] }),
  },
  {
    name: 'fromAiSdk() with @ai-sdk/openai',
    model: (fetch) =>
      fromAiSdk(createOpenAI({ apiKey: 'k', fetch: fetch as typeof globalThis.fetch }).chat('m')),
    incomplete: (calls) => chunks(calls) + done,
  },
];

const answer = chunkOf({ role: 'assistant', content: 'Done.' }) + chunkOf({}, 'stop') + done;

function setUp({ model }: Provider, bodies: readonly string[], withRetry = false) {
  const ran: unknown[] = [];
  const act = tool({
    name: 'act',
    description: '',
    input: { type: 'object' },
    execute: (input) => `did ${ran.push(input)}`,
  });
  let requests = 0;
  const fetch: Fetch = async () => {
    const headers = { 'content-type': 'text/event-stream' };
    return new Response(bodies[requests++] ?? answer, { headers });
  };
  const use = withRetry ? [retry({ afterFirstDelta: true, sleep: async () => {} })] : [];
  const agent = new ReActAgent({ name: 'a', model: model(fetch), tools: [act], use });
  return { agent, ran, requests: () => requests };
}

const cutReplies: readonly Arguments[] = [[''], ['{"a":'], ['{"a":1}', ''], ['{"a":1}', '{"b']];

test.each(
  providers.flatMap((provider) =>
    cutReplies.map((calls) => [provider.name, calls, provider] as const),
  ),
)('%s: without a finish reason, the calls %j do not run', async (_name, calls, provider) => {
  const { agent, ran } = setUp(provider, [provider.incomplete(calls)]);
  const error = await agent.call('Go.').catch((thrown: unknown) => thrown);
  expect(AgentError.is(error) && [error.code, error.retryable]).toEqual([
    'MODEL_BAD_RESPONSE',
    true,
  ]);
  expect(ran).toEqual([]);
});

test.each(
  providers
    .filter(({ name }) => /openai\(\)|fromAiSdk/.test(name))
    .map((one) => [one.name, one] as const),
)('%s: retry() asks again after an incomplete reply', async (_name, provider) => {
  const { agent, ran, requests } = setUp(provider, [provider.incomplete([''])], true);
  expect((await agent.call('Go.')).text).toBe('Done.');
  expect([requests(), ran]).toEqual([2, []]);
});

test.each(
  providers
    .filter(({ name }) => name.startsWith('openai(), [DONE]'))
    .map((one) => [one.name, one] as const),
)('%s: calls with complete arguments run without a finish reason', async (_name, provider) => {
  const { agent, ran } = setUp(provider, [provider.incomplete(['{"a":1}', '{}'])]);
  await agent.call('Go.').catch(() => {});
  expect(ran).toEqual([{ a: 1 }, {}]);
});

test('a call with empty arguments runs if the reply has a finish reason', async () => {
  const { agent, ran } = setUp(providers[0]!, [chunks(['']) + chunkOf({}, 'tool_calls') + done]);
  expect((await agent.call('Go.')).text).toBe('Done.');
  expect(ran).toEqual([{}]);
});

test.each(['other', 'unknown'])(
  'fromAiSdk(): a provider that reports `%s` for a missing finish reason runs no incomplete call',
  async (unified) => {
    const parts = [
      { type: 'tool-input-start', id: 'c', toolName: 'act' },
      { type: 'finish', finishReason: { unified, raw: undefined }, usage: emptyUsage },
    ] as readonly LanguageModelV3StreamPart[];
    const model: LanguageModelV3 = {
      specificationVersion: 'v3',
      provider: 'p',
      modelId: 'm',
      supportedUrls: {},
      doGenerate: () => expect.unreachable('not streamed'),
      doStream: async () => ({
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      }),
    };
    const { agent, ran } = setUp({ ...providers[0]!, model: () => fromAiSdk(model) }, []);
    await expect(agent.call('Go.')).rejects.toMatchObject({ code: 'MODEL_BAD_RESPONSE' });
    expect(ran).toEqual([]);
  },
);

/** Creates a model without a provider. Its first reply has no `finish` delta. */
const ownModel = (calls: Arguments): ChatModel => {
  let requests = 0;
  return {
    provider: 'p',
    modelId: 'm',
    features: { tools: true, media: [] },
    async *stream() {
      requests += 1;
      const first = calls.map((delta, index): ModelDelta => ({
        type: 'tool-input',
        index,
        id: `c${index}`,
        name: 'act',
        delta,
      }));
      const last: ModelDelta[] = [
        { type: 'text', id: 't', delta: 'Done.' },
        { type: 'finish', reason: 'stop' },
      ];
      yield requests === 1 ? first : last;
    },
  };
};

test.each(cutReplies)(
  "a user's model: the calls of an incomplete reply do not run",
  async (...calls) => {
    const { agent, ran } = setUp({ ...providers[0]!, model: () => ownModel(calls) }, []);
    await expect(agent.call('Go.')).rejects.toMatchObject({
      code: 'MODEL_BAD_RESPONSE',
      retryable: true,
    });
    expect(ran).toEqual([]);
  },
);

test("a user's model: complete calls run without a finish reason", async () => {
  const { agent, ran } = setUp({ ...providers[0]!, model: () => ownModel(['{"a":1}']) }, []);
  expect((await agent.call('Go.')).text).toBe('Done.');
  expect(ran).toEqual([{ a: 1 }]);
});

const emptyUsage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
