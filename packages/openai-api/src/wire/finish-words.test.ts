import { expect, test } from 'vitest';
import { createUiMessageEncoder } from '@isoloop/core/stream';
import {
  AgentError,
  ReActAgent,
  tool,
  type AgentOptions,
  type CallOptions,
  type Middleware,
} from '@isoloop/core';
import { echo, pay } from '../../../edge/test-support/plain-tools.ts';
import { wholeAnswer } from '../request/completion-answer.ts';
import { createOpenAiEncoder, toChatCompletion } from './openai-encoder.ts';
import { createResponsesEncoder } from './responses/responses-encoder.ts';
import { toResponse } from './responses/finished-response.ts';
import { jsonMode } from '@isoloop/core/output';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';

const about = { model: 'm', id: 'resp_1', created: 1 };
const place = tool({ name: 'place', description: 'Where', input: { type: 'object' } });

interface Case {
  readonly replies?: readonly ScriptedReply[];
  readonly agent?: Partial<AgentOptions>;
  readonly call?: CallOptions;
  /** Whether an earlier run has left a tool call that waits. */
  readonly waits?: boolean;
  /** What happens to the run when its first text arrives. */
  readonly at?: 'interrupt' | 'pause' | 'abort';
}

async function run({ replies = ['Hello you.'], agent: more, call, waits, at }: Case) {
  const model = new ScriptedModel(replies);
  const agent = new ReActAgent({ name: 'a', model, tools: [echo, place, pay], ...more });
  if (waits) await agent.call('go');
  const abort = new AbortController();
  const stream = agent.stream('go', { throwOnError: false, signal: abort.signal, ...call });
  const encoders = [
    createResponsesEncoder(about),
    createOpenAiEncoder(about),
    createUiMessageEncoder(),
  ];
  const sent: object[][] = [[], [], []];
  let isStopped = false;
  for await (const batch of stream.batches()) {
    for (const [index, { encode }] of encoders.entries()) sent[index]!.push(...encode(batch));
    if (isStopped || !batch.some(({ type }) => type === 'reasoning-chunk')) continue;
    isStopped = true;
    if (at === 'interrupt') agent.interrupt();
    if (at === 'pause') agent.interrupt({ mode: 'pause' });
    if (at === 'abort') abort.abort();
  }
  const [responses, chat, ui] = sent.map((each) => each.at(-1) as Record<string, unknown>);
  return { result: await stream.result, responses: responses!, chat: chat!, ui: ui! };
}

const slow: readonly ScriptedReply[] = [
  [
    {
      deltas: [
        [{ type: 'text', id: 't', delta: 'Hel' }],
        [{ type: 'text', id: 't', delta: 'lo' }],
        [{ type: 'finish', reason: 'stop' }],
      ],
    },
  ],
];
const ends = (reason: string): Case => ({
  replies: [
    [{ deltas: [[{ type: 'text', id: 't', delta: 'Hel' }], [{ type: 'finish', reason }]] }],
  ],
});
const calls = (name: string): Case => ({ replies: [{ toolCalls: [{ name }] }, 'Done.'] });
const limits = (given: NonNullable<AgentOptions['limits']>): Case => ({
  ...calls('echo'),
  agent: { limits: given },
});
const guard: Middleware = {
  wrapInput: () => Promise.reject(new AgentError('GUARD_REJECTED', 'No.')),
};

const complete = ['completed', undefined, 'stop', 'stop'];
const length = ['incomplete', 'max_output_tokens', 'length', 'length'];
const filtered = ['incomplete', 'content_filter', 'content_filter', 'content-filter'];
const cut = ['incomplete', undefined, 'length', 'other'];

test.each<[string, Case, readonly unknown[]]>([
  ['an answer', {}, complete],
  ['a direct answer of a tool', { ...calls('echo'), call: { returnDirect: true } }, complete],
  [
    'a stop by a hook',
    { agent: { use: [{ on: { 'post-reasoning': ({ stop }) => stop() } }] } },
    complete,
  ],
  [
    "a call of the client's tool",
    calls('place'),
    ['completed', undefined, 'tool_calls', 'tool-calls'],
  ],
  ['a call that waits for approval', calls('pay'), ['incomplete', undefined, 'stop', 'tool-calls']],
  ['a pause', { replies: slow, at: 'pause' }, cut],
  ['the token limit of the model', ends('length'), length],
  ['the token limit in other words', ends('MAX_TOKENS'), length],
  ['the filter of the provider', ends('content_filter'), filtered],
  ['the filter of an AI SDK provider', ends('content-filter'), filtered],
  ['a refusal of the model', ends('refusal'), filtered],
  ["a filter in Gemini's words", ends('content_filter: PROHIBITED_CONTENT'), filtered],
  ["a filter in GLM's words", ends('sensitive'), filtered],
  ['the end of the context window', ends('model_context_window_exceeded'), length],
  ['an incomplete reply for no reason', ends('incomplete'), cut],
  ['an unknown reason of the provider', ends('a_new_reason'), cut],
  ['the limit of iterations', limits({ iterations: 1 }), length],
  ['the limit of tokens', limits({ tokens: 1 }), length],
  ['the limit of tool calls', limits({ toolCalls: 0 }), length],
  ['a rejection', { agent: { use: [guard] } }, filtered],
  [
    'a rejection while a result of the client is missing',
    { ...calls('place'), waits: true, call: { use: [guard] } },
    filtered,
  ],
  [
    'a rejection while an approval is missing',
    { ...calls('pay'), waits: true, call: { use: [guard] } },
    filtered,
  ],
  ['an interrupt', { replies: slow, at: 'interrupt' }, cut],
])('%s ends with the words of each format', async (_what, given, [status, reason, chat, ui]) => {
  const sent = await run(given);
  const incomplete = reason === undefined ? null : { reason };
  const expected = { status, incomplete_details: incomplete, error: null };
  expect(sent.responses).toMatchObject({ type: `response.${status}`, response: expected });
  expect(toResponse(sent.result, about)).toMatchObject(expected);
  expect(sent.chat).toMatchObject({ choices: [{ finish_reason: chat }] });
  expect(toChatCompletion(sent.result, about).choices[0]!.finish_reason).toBe(chat);
  const items = toResponse(sent.result, about).output as readonly {
    readonly type: string;
    readonly status: string;
  }[];
  if (sent.result.incomplete) expect(items.map((item) => item.status)).toEqual(['incomplete']);
  expect(sent.ui).toMatchObject({ type: 'finish', finishReason: ui });
  const hasCalls = items.some(({ type }) => type === 'function_call');
  expect(hasCalls).toBe(chat === 'tool_calls');
});

test('a rejection is an answer, although an earlier tool call waits for an approval', async () => {
  const { result } = await run({ ...calls('pay'), waits: true, call: { use: [guard] } });
  expect(result.pending).toMatchObject([{ name: 'pay', kind: 'approval' }]);
  const format = { kind: 'completion', stream: false, completion: about } as const;
  const response = wholeAnswer(result, format);
  expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'No.' } }] });
});

test('a blank line separates the text of an interrupt from the reply that it cut', async () => {
  const model = new ScriptedModel(slow);
  const agent = new ReActAgent({ name: 'a', model });
  const { encode } = createOpenAiEncoder(about);
  let text = '';
  for await (const batch of agent.stream('go').batches()) {
    if (batch.some(({ type }) => type === 'reasoning-chunk')) agent.interrupt('Stop.');
    for (const chunk of encode(batch))
      if ('choices' in chunk) text += chunk.choices[0]?.delta.content ?? '';
  }
  expect(text).toBe('Hel\n\nStop.');
});

test('an aborted answer is incomplete, and an abort of a UI stream', async () => {
  const sent = await run({ replies: slow, at: 'abort' });
  const response = { status: 'incomplete', incomplete_details: null };
  expect(sent.responses).toMatchObject({ type: 'response.incomplete', response });
  expect(toResponse(sent.result, about)).toMatchObject({
    ...response,
    output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }],
  });
  expect(sent.chat).toMatchObject({ choices: [{ finish_reason: 'length' }] });
  expect(sent.ui).toEqual({ type: 'abort', reason: 'aborted' });
});

test('a failed answer is a failed response, and an error of the other streams', async () => {
  const error = new AgentError('MODEL_SERVER', 'It broke.');
  const sent = await run({ replies: [{ text: 'half', error }] });
  const response = { status: 'failed', error: { code: 'MODEL_SERVER', message: 'It broke.' } };
  expect(sent.responses).toMatchObject({ type: 'response.failed', response });
  expect(toResponse(sent.result, about)).toMatchObject(response);
  expect(sent.chat).toMatchObject({ error: { code: 'MODEL_SERVER' } });
  expect(sent.ui).toEqual({ type: 'error', errorText: 'It broke. [MODEL_SERVER]' });
});

test.each(['error', 'network_error', 'MALFORMED_FUNCTION_CALL'])(
  'a reply that ended with %s is a failed response, and an error of the other streams',
  async (reason) => {
    const sent = await run(ends(reason));
    const code = sent.result.error?.code;
    expect(code).toMatch(/^MODEL_/);
    expect(sent.responses).toMatchObject({
      type: 'response.failed',
      response: { error: { code } },
    });
    expect(sent.chat).toMatchObject({ error: { code } });
    expect(sent.ui).toMatchObject({
      type: 'error',
      errorText: expect.stringContaining(`[${code}]`),
    });
  },
);

test('an answer with the value that was asked for is complete, also at a limit', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
  } as const;
  const sent = await run({
    replies: [{ toolCalls: [{ name: 'echo' }] }, '{"n":1}'],
    agent: { limits: { iterations: 1 } },
    call: { output: jsonMode(schema) },
  });
  expect(sent.result).toMatchObject({ reason: 'max-iterations', output: { n: 1 } });
  expect(sent.responses).toMatchObject({ response: { status: 'completed' } });
  expect(sent.chat).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
});
