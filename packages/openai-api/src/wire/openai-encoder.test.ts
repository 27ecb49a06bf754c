import { expect, test } from 'vitest';
import {
  AgentError,
  ReActAgent,
  textOf,
  tool,
  type CallOptions,
  type ModelDelta,
} from '@isoloop/core';
import type { OpenAiError } from '@isoloop/edge/api';
import type { Hook } from '@isoloop/core/event';
import { jsonMode } from '@isoloop/core/output';
import { echo } from '../../../edge/test-support/plain-tools.ts';
import { rolesOf } from '@test/roles-of.ts';
import {
  createOpenAiEncoder,
  toChatCompletion,
  type ChatCompletionChunk,
  type OpenAiEncoderOptions,
} from './openai-encoder.ts';
import { fromOpenAiMessages } from './openai-messages.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';

const about = { model: 'm', id: 'chatcmpl-1', created: 1, includeUsage: true };

async function chunksOf(
  replies: readonly ScriptedReply[],
  options: CallOptions = {},
  encoding: OpenAiEncoderOptions = about,
) {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(replies), tools: [echo] });
  const encoder = createOpenAiEncoder(encoding);
  const stream = agent.stream('go', { throwOnError: false, ...options });
  const chunks: (ChatCompletionChunk | OpenAiError)[] = [];
  for await (const batch of stream.batches()) chunks.push(...encoder.encode(batch));
  return { chunks, result: await stream.result };
}

const contents = (chunks: readonly (ChatCompletionChunk | OpenAiError)[]) =>
  chunks.flatMap((chunk) => ('choices' in chunk ? (chunk.choices[0]?.delta.content ?? []) : []));

const thinks = (id: string, delta: string): ModelDelta => ({ type: 'thinking', id, delta });
const says = (id: string, delta: string): ModelDelta => ({ type: 'text', id, delta });

test('the OpenAI encoder encodes an answer as role, deltas, finish reason and usage', async () => {
  const { chunks, result } = await chunksOf([{ thinking: 'hm', text: 'Hello you.' }]);
  expect(chunks[0]).toMatchObject({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    choices: [{ delta: { role: 'assistant' }, finish_reason: null }],
  });
  expect(chunks[1]).toMatchObject({ choices: [{ delta: { reasoning_content: 'hm' } }] });
  expect(contents(chunks).join('')).toBe('Hello you.');
  expect(chunks.at(-2)).toMatchObject({ choices: [{ delta: {}, finish_reason: 'stop' }] });
  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  });
  expect(toChatCompletion(result, about)).toMatchObject({
    object: 'chat.completion',
    choices: [{ message: { role: 'assistant', content: 'Hello you.' }, finish_reason: 'stop' }],
    usage: { total_tokens: 15 },
  });
});

test.each([undefined, false])(
  'with `reasoning: %s`, a stream and a whole completion agree about the thinking',
  async (reasoning) => {
    const given = reasoning === undefined ? {} : { reasoning };
    const replies: ScriptedReply[] = [
      { thinking: 'First.', toolCalls: [{ name: 'echo' }] },
      {
        deltas: [
          [thinks('1', 'One.')],
          [thinks('2', 'Two.'), thinks('2', ' More.')],
          [says('3', 'Done.')],
        ],
      },
    ];
    const { chunks, result } = await chunksOf(replies, {}, { ...about, ...given });
    const shown = reasoning === false ? undefined : 'One.\n\nTwo. More.';
    const thoughts = chunks.flatMap((chunk) =>
      'choices' in chunk ? (chunk.choices[0]?.delta.reasoning_content ?? []) : [],
    );
    expect(thoughts.join('')).toBe(shown === undefined ? '' : `First.\n\n${shown}`);
    const { message } = toChatCompletion(result, { ...about, ...given }).choices[0]!;
    expect([message.content, message.reasoning_content]).toEqual(['Done.', shown]);
  },
);

test('the texts of several replies are separated, and tools are hidden', async () => {
  const { chunks } = await chunksOf([
    { text: 'Let me see.', toolCalls: [{ name: 'echo' }] },
    'Done.',
  ]);
  expect(contents(chunks).join('')).toBe('Let me see.\n\nDone.');
  expect(JSON.stringify(chunks)).not.toContain('echo');
});

test('a failure during the stream is an error chunk in OpenAI’s format', async () => {
  const { chunks } = await chunksOf([
    { text: 'half', error: new AgentError('MODEL_SERVER', 'It broke.') },
  ]);
  expect(chunks.at(-1)).toEqual({
    error: { message: 'It broke.', type: 'api_error', code: 'MODEL_SERVER', param: null },
  });
});

test('fromOpenAiMessages() converts posted messages to a conversation', () => {
  const messages = fromOpenAiMessages([
    { role: 'developer', content: 'Be kind.' },
    {
      role: 'user',
      name: 'Ann',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'c', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c', content: 'a cat' },
    { role: 'assistant', content: 'A cat.' },
  ]);
  expect(rolesOf(messages)).toBe('system user assistant tool assistant');
  expect(messages[1]).toMatchObject({
    name: 'Ann',
    content: [
      { type: 'text' },
      { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' } },
    ],
  });
  expect(messages[2]!.content).toEqual([
    { type: 'tool_use', id: 'c', name: 'look', input: { at: 1 } },
  ]);
  expect(messages[3]!.content[0]).toMatchObject({ toolUseId: 'c', name: 'look' });
  expect(textOf(messages[4]!)).toBe('A cat.');
});

test.for([
  [[], /at least one/],
  [
    [
      { role: 'user', content: 'x' },
      { role: 'robot', content: 'x' },
    ],
    /messages\[1\]` has the role "robot"/,
  ],
  [[{ role: 'user' }], /messages\[0\]` has no content/],
  [[{ role: 'user', content: [{ type: 'input_audio' }] }], /"input_audio"/],
  [[{ role: 'tool', content: 'x' }], /tool_call_id/],
  [[{ role: 'assistant', tool_calls: [{ id: 1 }] }], /malformed tool call/],
] as const)('an invalid conversation is rejected: %j', ([messages, problem]) => {
  expect(() => fromOpenAiMessages(messages)).toThrowError(
    expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringMatching(problem) }),
  );
});

const ask = tool({ name: 'ask', description: 'Asks the user', input: { type: 'object' } });

test('external tool calls end the answer as tool calls, both in a completion and in a stream', async () => {
  const calls = ['a', '서울'].map((city) => ({ id: city, name: 'ask', input: { city } }));
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([{ text: 'Well.', toolCalls: calls }]),
    tools: [ask],
  });
  const encoder = createOpenAiEncoder({ ...about, includeUsage: false });
  const stream = agent.stream('go');
  const chunks: (ChatCompletionChunk | OpenAiError)[] = [];
  for await (const batch of stream.batches()) chunks.push(...encoder.encode(batch));
  const expected = calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  expect(contents(chunks).join('')).toBe('Well.');
  expect(chunks.at(-2)).toMatchObject({
    choices: [
      {
        delta: { tool_calls: expected.map((call, index) => ({ index, ...call })) },
        finish_reason: null,
      },
    ],
  });
  expect(chunks.at(-1)).toMatchObject({ choices: [{ delta: {}, finish_reason: 'tool_calls' }] });
  expect(toChatCompletion(await stream.result, about).choices[0]).toMatchObject({
    message: { content: 'Well.', tool_calls: expected },
    finish_reason: 'tool_calls',
  });
});

test('tool calls that wait for an approval are not sent to the client', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: { type: 'object' },
    needsApproval: true,
    execute: () => 'paid',
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'pay', input: {} }] }]);
  const result = await new ReActAgent({ name: 'a', model, tools: [pay] }).call('go');
  const [choice] = toChatCompletion(result, about).choices;
  expect(choice).toMatchObject({ message: { content: '' }, finish_reason: 'stop' });
  expect(choice!.message.tool_calls).toBeUndefined();
});

test('with `sendsWholeText`, the answer is sent in one piece, without rejected attempts', async () => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['no', '{"n":1}']) });
  const encoder = createOpenAiEncoder({ ...about, sendsWholeText: true });
  const chunks: (ChatCompletionChunk | OpenAiError)[] = [];
  for await (const batch of agent.stream('go', { output: jsonMode() }).batches())
    chunks.push(...encoder.encode(batch));
  expect(contents(chunks).filter(Boolean)).toEqual(['{"n":1}']);
  expect(chunks.at(-2)).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
});

test('a rejection by a guard has the finish reason content_filter', async () => {
  const refusal = new AgentError('GUARD_REJECTED', 'Not this.');
  const refuse = { wrapInput: () => Promise.reject(refusal) };
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([]), use: [refuse] });
  const result = await agent.call('go', { throwOnError: false });
  expect(toChatCompletion(result, about).choices[0]).toMatchObject({
    message: { content: 'Not this.' },
    finish_reason: 'content_filter',
  });
});

/** Returns the tool calls that a client of the API assembles from the chunks. */
function assembled(chunks: readonly (ChatCompletionChunk | OpenAiError)[]): readonly object[] {
  const calls: { id: string; name: string; text: string; parts: number }[] = [];
  for (const { index, id, function: part } of chunks.flatMap((chunk) =>
    'choices' in chunk ? (chunk.choices[0]?.delta.tool_calls ?? []) : [],
  )) {
    if (id !== undefined) calls[index] = { id, name: part.name!, text: '', parts: 0 };
    calls[index]!.text += part.arguments;
    calls[index]!.parts += 1;
  }
  return calls;
}

async function streamed(
  replies: readonly ScriptedReply[],
  hooks: Hook[] = [],
): Promise<readonly (ChatCompletionChunk | OpenAiError)[]> {
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel(replies),
    tools: [ask, echo],
    use: [...hooks],
  });
  const encoder = createOpenAiEncoder({
    ...about,
    includeUsage: false,
    isExternal: (name) => name === 'ask',
  });
  const chunks: (ChatCompletionChunk | OpenAiError)[] = [];
  for await (const batch of agent.stream('go', { throwOnError: false }).batches())
    chunks.push(...encoder.encode(batch));
  return chunks;
}

const input = (index: number, delta: string, name?: string) =>
  ({ type: 'tool-input', index, delta, ...(name && { name, id: `c${index}` }) }) as const;
const ended = { type: 'finish', reason: 'tool_calls' } as const;

test('only the arguments of external tool calls are streamed', async () => {
  const deltas = [
    [input(0, '', 'ask')],
    [input(1, '{}', 'echo')],
    [input(0, '{"city":'), input(0, '"서')],
    [input(2, '', 'ask')],
    [input(0, '울"}')],
    [ended],
  ];
  const chunks = await streamed([{ deltas }]);
  expect(assembled(chunks)).toEqual([
    { id: 'c0', name: 'ask', text: '{"city":"서울"}', parts: 3 },
    { id: 'c2', name: 'ask', text: '{}', parts: 2 },
  ]);
  expect(JSON.stringify(chunks)).not.toContain('echo');
  expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
});

test.for<[string, readonly ScriptedReply[], Hook[]]>([
  ['that are not JSON', [{ toolCalls: [{ name: 'ask', input: '{"a":' }] }, 'Never mind.'], []],
  [
    'that a hook changed',
    [{ toolCalls: [{ name: 'ask', input: { a: 1 } }] }],
    [
      {
        name: 'h',
        on: {
          'pre-acting': (event) => ({ ...event, toolUse: { ...event.toolUse, input: { a: 2 } } }),
        },
      },
    ],
  ],
  [
    'that a hook refused',
    [{ toolCalls: [{ name: 'ask', input: { a: 1 } }] }, 'Then not.'],
    [{ name: 'h', on: { 'pre-acting': (event) => event.reject('No.') } }],
  ],
  [
    'that the model took back',
    [
      {
        deltas: [
          [input(0, '{}', 'ask')],
          [{ type: 'reset', reason: 'retry' }],
          [{ type: 'text', id: 't', delta: 'Hm.' }],
          [{ type: 'finish', reason: 'stop' }],
        ],
      },
    ],
    [],
  ],
])(
  'external tool calls %s end the stream with an error, because a client must not run them',
  async ([, replies, hooks]) => {
    const chunks = await streamed(replies, hooks);
    expect(chunks.at(-1)).toMatchObject({
      error: { code: 'MODEL_BAD_RESPONSE', type: 'api_error' },
    });
    expect(JSON.stringify(chunks)).not.toMatch(/"finish_reason":"/);
  },
);

test.for([
  ['INTERNAL', 'api_error'],
  ['MODEL_AUTH', 'api_error'],
  ['MODEL_RATE_LIMITED', 'rate_limit_error'],
  ['MODEL_CONTEXT_LENGTH', 'invalid_request_error'],
  ['INVALID_INPUT', 'invalid_request_error'],
] as const)('an error with code %s during the stream has the type %s', async ([code, type]) => {
  const { chunks } = await chunksOf([{ text: 'half', error: new AgentError(code, 'It broke.') }]);
  expect(chunks.at(-1)).toMatchObject({ error: { code, type } });
});
