import { createOpenAI } from '@ai-sdk/openai';
import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { dashscope } from '../dashscope/dashscope.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { toolResultsOf } from '../../message/msg.ts';
import { agentTool } from '../../several/agent-tool.ts';
import { fallback } from '../../resilience/fallback.ts';
import { replyCache } from '../../resilience/reply-cache.ts';
import { retry } from '../../resilience/retry.ts';
import { openai } from '../openai/openai.ts';
import { openaiResponses } from '../responses/openai-responses.ts';
import type { Fetch } from '../http/http-model.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { tool } from '../../tool/tool.ts';
import { fromAiSdk } from '../ai-sdk/ai-sdk-model.ts';
import type { ChatModel, ModelDelta } from '../chat-model.ts';

/** A format, and the reply "Half" that ends with a finish reason. */
interface Wire {
  readonly name: string;
  readonly model: (fetch: Fetch) => ChatModel;
  readonly ending: (reason: string, text?: string) => string;
}

const event = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`;
const options = (fetch: Fetch) => ({ model: 'm', apiKey: 'k', fetch });
const chatUsage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

function chat(reason: string, text = 'Half'): string {
  const choice = { index: 0, delta: text ? { content: text } : {}, finish_reason: null };
  return [
    event({ id: 'r', model: 'm', choices: [choice] }),
    event({ id: 'r', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: reason }] }),
    event({ id: 'r', model: 'm', choices: [], usage: chatUsage }),
    'data: [DONE]\n\n',
  ].join('');
}

const openaiWire: Wire = {
  name: 'openai()',
  model: (fetch) => openai(options(fetch)),
  ending: chat,
};

const chatWires: readonly Wire[] = [
  openaiWire,
  {
    name: 'openai(), a reply that is not streamed',
    model: (fetch) => openai(options(fetch)),
    ending: (reason, content = 'Half') =>
      JSON.stringify({
        choices: [{ index: 0, message: { content, tool_calls: [] }, finish_reason: reason }],
        usage: chatUsage,
      }),
  },
  {
    name: 'openai(), without [DONE]',
    model: (fetch) => openai(options(fetch)),
    ending: (reason, text) => chat(reason, text).replace('data: [DONE]\n\n', ''),
  },
  {
    name: 'dashscope()',
    model: (fetch) => dashscope(options(fetch)),
    ending: (reason, content = 'Half') =>
      [
        event({ output: { choices: [{ message: { content }, finish_reason: 'null' }] } }),
        event({
          output: { choices: [{ message: { content: '' }, finish_reason: reason }] },
          usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
        }),
      ].join(''),
  },
  {
    name: 'fromAiSdk() with @ai-sdk/openai',
    model: (fetch) =>
      fromAiSdk(createOpenAI({ apiKey: 'k', fetch: fetch as typeof globalThis.fetch }).chat('m')),
    ending: chat,
  },
];

const responsesWire: Wire = {
  name: 'openaiResponses()',
  model: (fetch) => openaiResponses(options(fetch)),
  ending: (reason, text = 'Half') => {
    const content = [{ type: 'output_text', text, annotations: [] }];
    const item = { id: 'msg_1', type: 'message', role: 'assistant', content };
    const response = {
      id: 'resp_1',
      object: 'response',
      model: 'm',
      status: 'incomplete',
      incomplete_details: { reason },
      output: text ? [item] : [],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    };
    return event({ type: 'response.incomplete', sequence_number: 1, response });
  },
};

const wires: readonly Wire[] = [...chatWires, responsesWire];

function setUp({ model }: Wire, bodies: readonly string[], use: ConstructorOptions['use'] = []) {
  const ran: unknown[] = [];
  const act = tool({
    name: 'act',
    description: '',
    input: {},
    execute: (given) => ran.push(given),
  });
  let requests = 0;
  const fetch: Fetch = async () => {
    const body = bodies[requests++] ?? expect.unreachable('too many requests');
    const type = body.startsWith('{') ? 'application/json' : 'text/event-stream';
    return new Response(body, { headers: { 'content-type': type } });
  };
  const agent = new ReActAgent({ name: 'a', model: model(fetch), tools: [act], use });
  return { agent, ran };
}

type ConstructorOptions = ConstructorParameters<typeof ReActAgent>[0];

const sleep = async (): Promise<void> => {};

const failures = [
  'error',
  'network_error',
  'insufficient_system_resource',
  'MALFORMED_FUNCTION_CALL',
  'function_call_filter: MALFORMED_FUNCTION_CALL',
];

const cases = [
  ...wires.flatMap((wire) => failures.map((reason) => [wire.name, reason, wire] as const)),
  ...chatWires.map((wire) => [wire.name, 'tool_calls', wire] as const),
];

test.each(cases)('%s: %s fails the reply', async (_name, reason, wire) => {
  const { agent } = setUp(wire, [wire.ending(reason)]);
  const result = await agent.call('Go.', { throwOnError: false });
  const error = { code: 'MODEL_SERVER', message: expect.stringContaining(`"${reason}"`) };
  expect(result).toMatchObject({ reason: 'error', error: { ...error, retryable: true } });
  expect((await agent.messages()).map(({ role }) => role)).toEqual(['user']);
});

test.each(cases)('%s: retry() asks again after %s', async (_name, reason, wire) => {
  const answer = wire === responsesWire ? completedResponse : wire.ending('stop', 'Whole.');
  const bodies = [wire.ending(reason), answer];
  const { agent } = setUp(wire, bodies, [retry({ afterFirstDelta: true, sleep })]);
  const result = await agent.call('Go.');
  expect(result).toMatchObject({ text: 'Whole.', reason: 'stop' });
  expect(result).not.toHaveProperty('incomplete');
  // The failed reply has cost tokens, too.
  expect(result.usage).toMatchObject({ inputTokens: 6, outputTokens: 4 });
});

const completedResponse = responsesWire
  .ending('', 'Whole.')
  .replaceAll('incomplete', 'completed')
  .replace('completed_details', 'incomplete_details');

test.each(wires.map((wire) => [wire.name, wire] as const))(
  '%s: retry() asks again by default if the failed reply has no content',
  async (_name, wire) => {
    const answer = wire === responsesWire ? completedResponse : wire.ending('stop', 'Whole.');
    const { agent } = setUp(wire, [wire.ending('error', ''), answer], [retry({ sleep })]);
    expect(await agent.call('Go.')).toMatchObject({ text: 'Whole.' });
  },
);

test('the finish reason of a failed reply does not count for a next model that reports none', async () => {
  const next: ChatModel = {
    ...ownModel('unused'),
    async *stream() {
      yield [{ type: 'text', id: 't', delta: 'Whole.' }];
    },
  };
  const { agent } = setUp(openaiWire, [chat('error', '')], [fallback([next])]);
  const result = await agent.call('Go.');
  expect(result).toMatchObject({ text: 'Whole.', reason: 'stop' });
  expect(result).not.toHaveProperty('incomplete');
});

test('agentTool() tells the parent that an answer is incomplete', async () => {
  const child = new ReActAgent({ name: 'child', model: ownModel('length') });
  const parent = new ReActAgent({
    name: 'parent',
    model: new ScriptedModel([
      { toolCalls: [{ name: 'call_child', input: { message: 'Go.' } }] },
      'Done.',
    ]),
    tools: [agentTool(child, { description: '' })],
  });
  await parent.call('Go.');
  const [result] = (await parent.messages()).flatMap(toolResultsOf);
  expect(result!.output).toMatch(/Half\n\n\(incomplete answer: length\)$/);
});

test('fallback() asks the next model after a failed reply', async () => {
  const other = new ScriptedModel(['Whole.']);
  const { agent } = setUp(openaiWire, [chat('network_error')], [fallback([other])]);
  expect(await agent.call('Go.')).toMatchObject({ text: 'Whole.', reason: 'stop' });
});

test.each(
  wires.flatMap((wire) =>
    [
      ['length', 'length'],
      ['max_tokens', 'length'],
      ['content_filter', 'filtered'],
      ['content_filter: PROHIBITED_CONTENT', 'filtered'],
      ['sensitive', 'filtered'],
      ['model_context_window_exceeded', 'length'],
      ['a_new_reason', 'other'],
    ].map(([reason, incomplete]) => [wire.name, reason!, incomplete!, wire] as const),
  ),
)('%s: the result after %s is incomplete: %s', async (_name, reason, incomplete, wire) => {
  const ends: unknown[] = [];
  const ending: Middleware = {
    on: { 'run-end': ({ result }) => void ends.push(result.incomplete) },
  };
  const { agent } = setUp(wire, [wire.ending(reason)], [ending]);
  const result = await agent.call('Go.');
  expect(result).toMatchObject({ text: 'Half', reason: 'stop', incomplete });
  expect(ends).toEqual([incomplete]);
});

test.each(['length', 'sensitive', 'a_new_reason', 'content_filter: SAFETY'])(
  'replyCache() keeps no reply that ends with %s',
  async (reason) => {
    const cache = replyCache({ maxTemperature: Infinity });
    const texts: string[] = [];
    for (const body of [chat(reason), chat('stop', 'Whole.'), chat('stop', 'Unused.')])
      texts.push((await setUp(openaiWire, [body], [cache]).agent.call('Go.')).text);
    expect(texts).toEqual(['Half', 'Whole.', 'Whole.']);
  },
);

test.each([
  ['a stream', 'data: ', '\n\n'],
  ['a reply that is not streamed', '', ''],
])("openai(): Gemini's refusal without a message, as %s, is filtered", async (_how, start, end) => {
  const choices = [{ index: 0, finish_reason: 'content_filter: PROHIBITED_CONTENT' }];
  const body = start + JSON.stringify({ choices, usage: chatUsage }) + end;
  const { agent } = setUp(openaiWire, [body]);
  expect(await agent.call('Go.')).toMatchObject({
    text: '',
    reason: 'stop',
    incomplete: 'filtered',
  });
});

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};

function aiSdkModel(
  finishReason: { readonly unified: string; readonly raw: string | undefined },
  parts: readonly LanguageModelV3StreamPart[] = [{ type: 'text-delta', id: '0', delta: 'Half' }],
): ChatModel {
  const finish = { type: 'finish', finishReason, usage } as LanguageModelV3StreamPart;
  const model: LanguageModelV3 = {
    specificationVersion: 'v3',
    provider: 'p',
    modelId: 'm',
    supportedUrls: {},
    doGenerate: () => expect.unreachable('not streamed'),
    doStream: async () => ({
      stream: new ReadableStream({
        start(controller) {
          for (const part of [...parts, finish]) controller.enqueue(part);
          controller.close();
        },
      }),
    }),
  };
  return fromAiSdk(model);
}

const agentWith = (model: ChatModel): ReActAgent => new ReActAgent({ name: 'a', model });

test.each([
  { unified: 'error', raw: 'MALFORMED_FUNCTION_CALL' },
  { unified: 'error', raw: 'a_new_failure' },
  { unified: 'error', raw: undefined },
  { unified: 'other', raw: 'network_error' },
  { unified: 'tool-calls', raw: 'STOP' },
  { unified: 'tool-calls', raw: undefined },
])('fromAiSdk(): the finish reason %j fails the reply', async (reason) => {
  const result = await agentWith(aiSdkModel(reason)).call('Go.', { throwOnError: false });
  const error = { code: 'MODEL_SERVER', retryable: true };
  expect(result).toMatchObject({ reason: 'error', error });
  expect(result.usage).toMatchObject({ inputTokens: 3, outputTokens: 2 });
});

test.each([
  [{ unified: 'stop', raw: 'a word of this provider' }, undefined],
  [{ unified: 'stop', raw: 'end_turn' }, undefined],
  [{ unified: 'stop', raw: 'tool_use' }, undefined],
  [{ unified: 'length', raw: 'a word of this provider' }, 'length'],
  [{ unified: 'content-filter', raw: 'SAFETY' }, 'filtered'],
  [{ unified: 'other', raw: 'sensitive' }, 'filtered'],
  [{ unified: 'other', raw: 'model_context_window_exceeded' }, 'length'],
  [{ unified: 'other', raw: 'a_new_reason' }, 'other'],
  [{ unified: 'other', raw: undefined }, 'other'],
])('fromAiSdk(): the result after %j is incomplete: %s', async (reason, incomplete) => {
  const result = await agentWith(aiSdkModel(reason)).call('Go.');
  expect(result).toMatchObject({ text: 'Half', reason: 'stop' });
  expect(result.incomplete).toBe(incomplete);
});

// https://github.com/vaadin/flow-components/pull/9195
test('fromAiSdk(): a reply without content and without a finish reason ended early', async () => {
  const start = { type: 'text-start', id: '0' } as const;
  const model = aiSdkModel({ unified: 'other', raw: undefined }, [start]);
  const error: unknown = await agentWith(model)
    .call('Go.')
    .catch((thrown: unknown) => thrown);
  expect(AgentError.is(error) && [error.code, error.retryable]).toEqual([
    'MODEL_BAD_RESPONSE',
    true,
  ]);
});

test("fromAiSdk(): calls of the provider's own tools are tool calls", async () => {
  const call = {
    toolCallId: 'c',
    toolName: 'search',
    input: '{}',
    providerExecuted: true,
  } as const;
  const text = { type: 'text-delta', id: '0', delta: 'Found.' } as const;
  const model = aiSdkModel({ unified: 'tool-calls', raw: 'tool_use' }, [
    { type: 'tool-call', ...call },
    text,
  ]);
  const result = await agentWith(model).call('Go.');
  expect(result).toMatchObject({ text: 'Found.', reason: 'stop' });
  expect(result).not.toHaveProperty('incomplete');
});

/** Creates a model without a provider. */
const ownModel = (reason: string): ChatModel => ({
  provider: 'p',
  modelId: 'm',
  features: { tools: true, media: [] },
  async *stream(): AsyncGenerator<readonly ModelDelta[]> {
    yield [
      { type: 'text', id: 't', delta: 'Half' },
      { type: 'finish', reason },
    ];
  },
});

test("a user's model that reports a failure fails the call", async () => {
  const error: unknown = await agentWith(ownModel('error'))
    .call('Go.')
    .catch((thrown: unknown) => thrown);
  expect(AgentError.is(error) && [error.code, error.retryable]).toEqual(['MODEL_SERVER', true]);
});

test("a user's model with an unknown finish reason gives an incomplete answer", async () => {
  expect(await agentWith(ownModel('halted')).call('Go.')).toMatchObject({
    reason: 'stop',
    incomplete: 'other',
  });
});

test('a call whose arguments did not begin before the length limit never runs with {}', async () => {
  const named = { index: 0, id: 'c0', type: 'function', function: { name: 'act', arguments: '' } };
  const cut = [
    event({ choices: [{ index: 0, delta: { tool_calls: [named] }, finish_reason: null }] }),
    event({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }] }),
    'data: [DONE]\n\n',
  ].join('');
  const { agent, ran } = setUp(openaiWire, [cut, chat('stop', 'Done.')]);
  expect(await agent.call('Go.')).toMatchObject({ text: 'Done.', toolsUsed: [] });
  expect(ran).toEqual([]);
});
