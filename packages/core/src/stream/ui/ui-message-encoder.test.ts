import {
  createUiMessageEncoder,
  type UiMessageEncoderOptions,
  fromUiMessage,
  toUiMessages,
  type UiChunk,
} from '@isoloop/core/stream';
import { validateUIMessages } from 'ai';
import { expect, test } from 'vitest';
import {
  AgentError,
  assistantMessage,
  tool,
  type AgentOptions,
  type CallOptions,
  type ModelDelta,
} from '@isoloop/core';
import { approvals } from '@isoloop/core/approval';
import type { ScriptedReply } from '@isoloop/core/testing';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { chunksOf, readChunks } from '@test/support/ui-chunks.ts';

const weather = tool({
  name: 'weather',
  description: 'Weather of a city',
  input: { type: 'object' },
  execute: (input, { emit }) => {
    emit('asking');
    const { city } = input as { city: string };
    if (city === 'Atlantis') throw new Error('It sank.');
    return { city, degrees: 21 };
  },
});

interface Script {
  readonly agent?: Partial<AgentOptions>;
  readonly call?: CallOptions;
  readonly encoder?: UiMessageEncoderOptions;
}

async function answer(
  replies: readonly ScriptedReply[],
  { agent: options, call, encoder }: Script = {},
): Promise<UiChunk[]> {
  const { agent } = scriptedAgent(replies, { tools: [weather], sessionId: 's', ...options });
  return chunksOf(agent.stream('go', { throwOnError: false, ...call }), encoder);
}

test('the UI encoder encodes an answer with thinking', async () => {
  const chunks = await answer([{ thinking: 'well now', text: 'Hello you.' }]);
  expect(chunks.map(({ type }) => type)).toEqual([
    'start',
    'start-step',
    'reasoning-start',
    'reasoning-delta',
    'reasoning-delta',
    'reasoning-end',
    'text-start',
    'text-delta',
    'text-delta',
    'text-end',
    'finish-step',
    'finish',
  ]);
  expect((await readChunks(chunks)).parts).toMatchObject([
    { type: 'step-start' },
    { type: 'reasoning', text: 'well now' },
    { type: 'text', text: 'Hello you.', state: 'done' },
  ]);
});

test('the UI encoder encodes two parallel tool calls, one of which fails, and then an answer', async () => {
  const toolCalls = [
    { name: 'weather', input: { city: 'Oslo' } },
    { name: 'weather', input: { city: 'Atlantis' } },
  ];
  const message = await readChunks(
    await answer([{ text: 'Let me see.', toolCalls }, 'Mild in Oslo.']),
  );
  expect(message.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'Let me see.' },
    {
      type: 'dynamic-tool',
      toolName: 'weather',
      state: 'output-available',
      input: { city: 'Oslo' },
      output: '{"city":"Oslo","degrees":21}',
    },
    {
      type: 'dynamic-tool',
      toolName: 'weather',
      state: 'output-error',
      input: { city: 'Atlantis' },
      errorText: 'Error: It sank.',
    },
    { type: 'step-start' },
    { type: 'text', text: 'Mild in Oslo.' },
  ]);
  expect(message.metadata).toMatchObject({
    sessionId: 's',
    reason: 'stop',
    iterations: 2,
    usage: { inputTokens: 20, outputTokens: 10 },
  });
});

test('tool calls of an unknown tool, or with arguments that are not JSON, are shown with their error results', async () => {
  const message = await readChunks(
    await answer([
      { toolCalls: [{ name: 'nope' }, { name: 'weather', input: '{"city"' }] },
      'Sorry.',
    ]),
  );
  expect(message.parts.filter((part) => part.type === 'dynamic-tool')).toMatchObject([
    {
      toolName: 'nope',
      state: 'output-error',
      errorText: expect.stringContaining('Tool not found'),
    },
    {
      toolName: 'weather',
      state: 'output-error',
      input: '{"city"',
      errorText: expect.stringContaining('not valid JSON'),
    },
  ]);
});

test('progress of a tool is a preliminary output', async () => {
  const chunks = await answer([
    { toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }] },
    'ok',
  ]);
  const outputs = chunks.filter((chunk) => chunk.type === 'tool-output-available');
  expect(outputs).toMatchObject([
    { output: 'asking', preliminary: true },
    { output: '{"city":"Oslo","degrees":21}' },
  ]);
});

test('text that a hook rewrites replaces the streamed text', async () => {
  const message = await readChunks(
    await answer(['rough words'], {
      agent: {
        use: [
          {
            on: {
              'post-reasoning': (event) => ({
                ...event,
                message: { ...event.message, content: [{ type: 'text', text: 'polished' }] },
              }),
            },
          },
        ],
      },
    }),
  );
  expect(message.parts.filter((part) => part.type === 'text')).toMatchObject([
    { text: 'polished' },
  ]);
});

test('a summary at the limit of iterations is the text of a separate step', async () => {
  const message = await readChunks(
    await answer(
      [{ toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }] }, 'In short: mild.'],
      {
        agent: { limits: { iterations: 1 } },
      },
    ),
  );
  expect(message.parts.at(-1)).toMatchObject({ type: 'text', text: 'In short: mild.' });
  expect(message.metadata).toMatchObject({ reason: 'max-iterations' });
});

test('a failure ends the stream with an error chunk, which has the code at its end', async () => {
  const chunks = await answer([
    { text: 'half', error: new AgentError('MODEL_RATE_LIMITED', 'Slow down.') },
  ]);
  expect(chunks.slice(-3).map(({ type }) => type)).toEqual(['text-end', 'finish-step', 'error']);
  const { errorText } = chunks.at(-1) as Extract<UiChunk, { type: 'error' }>;
  expect(errorText).toBe('Slow down. [MODEL_RATE_LIMITED]');
  await expect(readChunks(chunks)).rejects.toThrow('Slow down.');
});

test('a tool call that is incomplete when the run ends is closed with an error', async () => {
  const abort = new AbortController();
  const deltas = [
    [{ type: 'tool-input' as const, index: 0, id: 'c', name: 'weather', delta: '{"city":"Os' }],
  ];
  const message = await readChunks(
    await answer([{ deltas, hang: true }], {
      call: { signal: abort.signal },
      agent: { use: [{ on: { 'tool-input-chunk': () => abort.abort() } }] },
    }),
  );
  expect(message.parts).toMatchObject([
    { type: 'step-start' },
    {
      type: 'dynamic-tool',
      toolCallId: 'c',
      state: 'output-error',
      input: { city: 'Os' },
      errorText: 'The call was interrupted.',
    },
  ]);
});

test('tool calls that a failing hook prevented are closed before the error chunk', async () => {
  const fail = (): never => {
    throw new Error('no');
  };
  const chunks = await answer(
    [{ toolCalls: [{ name: 'weather', input: { city: 'Oslo' }, id: 'c' }] }],
    {
      agent: { use: [{ on: { 'pre-acting': fail } }] },
    },
  );
  expect(chunks.slice(-3)).toMatchObject([
    { type: 'tool-output-error', toolCallId: 'c' },
    { type: 'finish-step' },
    { type: 'error' },
  ]);
});

test('tool calls of a run that a hook stopped stay open', async () => {
  const message = await readChunks(
    await answer([{ toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }] }], {
      agent: { use: [{ on: { 'post-reasoning': (event) => event.stop() } }] },
    }),
  );
  expect(message.parts.at(-1)).toMatchObject({
    type: 'dynamic-tool',
    state: 'input-available',
    input: { city: 'Oslo' },
  });
});

test('a tool call that a hook edited shows the arguments that were used', async () => {
  const message = await readChunks(
    await answer([{ toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }] }, 'ok'], {
      agent: {
        use: [
          {
            on: {
              'pre-acting': (event) => ({
                ...event,
                toolUse: { ...event.toolUse, input: { city: 'Bergen' } },
              }),
            },
          },
        ],
      },
    }),
  );
  expect(message.parts[1]).toMatchObject({
    state: 'output-available',
    input: { city: 'Bergen' },
    output: '{"city":"Bergen","degrees":21}',
  });
});

test('an abort ends the stream with an abort chunk', async () => {
  const chunks = await answer(['never'], { call: { signal: AbortSignal.abort() } });
  expect(chunks.at(-1)).toEqual({ type: 'abort', reason: 'aborted' });
  await readChunks(chunks);
});

test('the ids of blocks are short, and tell messages apart', async () => {
  const chunks = await answer([
    [{ thinking: 'Hm.' }, { text: 'I ask.' }, { toolCalls: [{ name: 'weather', input: {} }] }],
    'Mild.',
  ]);
  const ids = chunks.flatMap((chunk) => ('delta' in chunk ? chunk.id : []));
  expect([...new Set(ids)]).toEqual(['1:0', '1:1', '2:0']);
});

test('the deltas of a batch are joined into one chunk', async () => {
  const deltas = [
    ['a', 'b', 'c'].map((delta) => ({ type: 'text' as const, id: 't', delta })),
    [{ type: 'finish' as const, reason: 'stop' }],
  ];
  const chunks = await answer([{ deltas }]);
  expect(chunks.filter((chunk) => chunk.type === 'text-delta')).toMatchObject([{ delta: 'abc' }]);
});

/** A reply that ends with a finish reason of the provider. */
const halfReply = (reason: string): ScriptedReply => ({
  deltas: [
    [
      { type: 'text', id: 't', delta: 'Half' },
      { type: 'finish', reason },
    ],
  ],
});

test.each([
  ['length', 'length', 'length'],
  ['content_filter: PROHIBITED_CONTENT', 'filtered', 'content-filter'],
  ['a_new_reason', 'other', 'other'],
])(
  'the message of an answer that ended with %s says %s, live and from the log',
  async (reason, incomplete, finishReason) => {
    const { agent } = scriptedAgent([halfReply(reason), 'Whole.']);
    const chunks = await chunksOf(agent.stream('go'), { events: true });
    expect(chunks.at(-1)).toMatchObject({
      type: 'finish',
      finishReason,
      messageMetadata: { reason: 'stop', incomplete },
    });
    expect((await readChunks(chunks)).metadata).toMatchObject({ incomplete });
    const entries = chunks.flatMap((chunk) => ('data' in chunk ? [chunk.data] : []));
    expect(entries).toMatchObject(
      entries.map((entry) => {
        const { type } = entry as { readonly type: string };
        return /^(post-reasoning|post-call|run-end)$/.test(type) ? { type, incomplete } : { type };
      }),
    );
    const next = await chunksOf(agent.stream('and now'));
    expect(JSON.stringify(next)).not.toContain('incomplete');
    const answers = toUiMessages(await agent.messages()).filter(({ role }) => role !== 'user');
    expect(answers.map(({ metadata }) => metadata?.['incomplete'])).toEqual([
      incomplete,
      undefined,
    ]);
  },
);

test('a suspended answer is not incomplete, because its message goes on', async () => {
  const deltas: readonly ModelDelta[] = [
    { type: 'tool-input', index: 0, id: 'c', name: 'pay', delta: '{}' },
    { type: 'finish', reason: 'length' },
  ];
  const pay = tool({
    name: 'pay',
    description: '',
    input: {},
    needsApproval: true,
    execute: () => 1,
  });
  const use = [approvals()];
  const chunks = await answer([{ deltas: [deltas] }], { agent: { tools: [pay], use } });
  expect(chunks.at(-1)).toMatchObject({ type: 'finish', messageMetadata: { reason: 'suspended' } });
  expect(JSON.stringify(chunks)).not.toContain('incomplete');
});

test('only the last reply decides whether a message from the log is incomplete', () => {
  const reply = (id: string, finishReason: string) =>
    assistantMessage(id, { id, metadata: { finishReason } });
  const [message] = toUiMessages([reply('first', 'length'), reply('second', 'stop')]);
  expect(message).not.toHaveProperty('metadata.incomplete');
});

test('with `events`, timeline events are transient, in order, and contain no prompt', async () => {
  const chunks = await answer(
    [{ toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }] }, 'done'],
    {
      agent: { systemPrompt: 'TOP SECRET' },
      encoder: { events: true },
    },
  );
  const events = chunks.flatMap((chunk) =>
    chunk.type === 'data-isoloop-event' ? [{ ...chunk }] : [],
  );
  expect(events.map(({ data }) => (data as { type: string }).type)).toEqual([
    'run-start',
    'pre-call',
    'pre-reasoning',
    'post-reasoning',
    'pre-acting',
    'acting-chunk',
    'post-acting',
    'pre-reasoning',
    'post-reasoning',
    'post-call',
    'run-end',
  ]);
  expect(JSON.stringify(events)).not.toMatch(/TOP SECRET|"go"|Weather of a city/);
  expect((await readChunks(chunks)).parts.some((part) => part.type.startsWith('data-'))).toBe(
    false,
  );
});

test('toUiMessages() converts a stored conversation, including tools, for useChat', async () => {
  const toolCalls = [
    { name: 'weather', input: { city: 'Oslo' } },
    { name: 'weather', input: { city: 'Atlantis' } },
  ];
  const { agent } = scriptedAgent(
    [{ thinking: 'hm', text: 'Let me see.', toolCalls }, 'Mild.', 'Bye.'],
    { tools: [weather] },
  );
  const posted = {
    id: 'u1',
    role: 'user',
    parts: [
      { type: 'text', text: 'Weather?' },
      {
        type: 'file',
        mediaType: 'image/png',
        url: 'data:image/png;base64,AAAA',
        filename: 'map.png',
      },
    ],
  };
  await agent.call(fromUiMessage(posted));
  await agent.call('Thanks');
  const messages = toUiMessages(await agent.messages());
  await validateUIMessages({ messages: structuredClone(messages) });
  expect(messages[0]).toMatchObject({
    ...posted,
    parts: [{ type: 'text', text: 'Weather?' }, posted.parts[1]],
  });
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(messages[1]!.parts.map(({ type }) => type)).toEqual([
    'step-start',
    'reasoning',
    'text',
    'dynamic-tool',
    'dynamic-tool',
    'step-start',
    'text',
  ]);
  expect(messages[1]!.parts[4]).toMatchObject({
    state: 'output-error',
    errorText: 'Error: It sank.',
  });
});

test.for([
  [null, /not a user message/],
  [{ role: 'assistant', parts: [] }, /not a user message/],
  [{ role: 'user' }, /no parts/],
  [{ role: 'user', parts: [] }, /empty/],
  [{ role: 'user', parts: [{ type: 'text', text: '  ' }] }, /empty/],
  [{ role: 'user', parts: [{ type: 'text', text: 'x' }, { type: 'tool-x' }] }, /Part 1/],
  [{ role: 'user', parts: [{ type: 'file', url: 3 }] }, /Part 0/],
] as const)('an invalid posted message is rejected: %j', ([message, problem]) => {
  expect(() => fromUiMessage(message)).toThrowError(
    expect.objectContaining({ code: 'INVALID_MESSAGE', message: expect.stringMatching(problem) }),
  );
});

test.for<readonly [mediaType: string, url: string]>([
  ['image/png', 'file:///etc/passwd'],
  ['image/png', 'blob:https://example.com/1'],
  ['image/png', ' javascript:alert(1)'],
  ['text/html', 'javascript:alert(1)'],
  ['image/png', 'https://ann:secret@example.com/a.png'],
  ['image/png', 'data:text/html;base64,PHA+'],
  ['text/plain', 'data:text/plain,Hi'],
])('a file of the type %s at %j is refused, in a page as at an endpoint', ([mediaType, url]) => {
  const parts = [{ type: 'file', mediaType, url }];
  expect(() => fromUiMessage({ id: 'u', role: 'user', parts })).toThrowError(
    expect.objectContaining({ code: 'INVALID_MESSAGE', details: expect.anything() }),
  );
});

test.for<readonly [mediaType: string, url: string, type: string]>([
  ['image/png', 'DATA:image/png;BASE64,AAAA', 'image'],
  ['', 'data:application/octet-stream;base64,AAAA', 'file'],
  ['', 'https://example.com/a', 'file'],
])('a file of the type %j at %j becomes a block', ([mediaType, url, type]) => {
  const parts = [{ type: 'file', mediaType, url }];
  expect(fromUiMessage({ id: 'u', role: 'user', parts }).content[0]!.type).toBe(type);
});

test('a tool call that waits for approval is shown as an approval request, live and from the log', async () => {
  const { agent } = scriptedAgent(
    [{ toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }, { name: 'elsewhere' }] }],
    {
      tools: [
        { ...weather, needsApproval: true },
        tool({ name: 'elsewhere', description: 'x', input: { type: 'object' } }),
      ],
    },
  );
  const { encode } = createUiMessageEncoder();
  const chunks: UiChunk[] = [];
  const stream = agent.stream('Weather?');
  for await (const batch of stream.batches()) chunks.push(...encode(batch));
  const approval = { id: 'call_1' };
  expect(chunks.filter(({ type }) => type === 'tool-approval-request')).toEqual([
    { type: 'tool-approval-request', approvalId: 'call_1', toolCallId: 'call_1' },
  ]);
  const parts = (await readChunks(chunks)).parts.filter((part) => part.type === 'dynamic-tool');
  expect(parts).toMatchObject([
    { toolName: 'weather', state: 'approval-requested', approval },
    { toolName: 'elsewhere', state: 'input-available' },
  ]);
  const { pending = [] } = await stream.result;
  const shown = toUiMessages(await agent.messages(), { pending });
  await validateUIMessages({ messages: structuredClone(shown) });
  expect(shown[1]!.parts.filter((part) => part.type === 'dynamic-tool')).toMatchObject([
    { toolName: 'weather', state: 'approval-requested', approval },
    { toolName: 'elsewhere', state: 'input-available' },
  ]);
});

const guarded = tool({
  name: 'weather',
  description: 'Weather of a city',
  input: { type: 'object' },
  needsApproval: true,
  execute: (input, { emit }) => {
    emit('asking');
    return (input as { city: string }).city;
  },
});
const edited = { type: 'edit', input: { city: 'Rome' } } as const;

test('an edit by the approver is the input of the tool part before any output', async () => {
  const chunks = await answer(
    [{ toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }] }, 'Mild.'],
    { agent: { tools: [guarded], use: [approvals({ decide: () => edited })] } },
  );
  const inputs = chunks.flatMap((chunk) =>
    chunk.type === 'tool-input-available' ? [chunk.input] : [chunk.type],
  );
  const shown = inputs.filter((one) => typeof one === 'object' || one === 'tool-output-available');
  expect(shown).toEqual([
    { city: 'Oslo' },
    { city: 'Rome' },
    'tool-output-available',
    'tool-output-available',
  ]);
  expect(
    (await readChunks(chunks)).parts.find(({ type }) => type === 'dynamic-tool'),
  ).toMatchObject({
    state: 'output-available',
    input: { city: 'Rome' },
    output: 'Rome',
  });
});

test('the message that a decision continues shows the edit, live and from the log', async () => {
  const { agent } = scriptedAgent(
    [{ toolCalls: [{ name: 'weather', id: 'c1', input: { city: 'Oslo' } }] }, 'Mild.'],
    { tools: [guarded] },
  );
  const chunks: UiChunk[] = [];
  for (const input of ['Weather?', [{ toolUseId: 'c1', ...edited }]] as const) {
    const { encode } = createUiMessageEncoder({ messageId: 'm' });
    for await (const batch of agent.stream(input).batches()) chunks.push(...encode(batch));
  }
  const part = { state: 'output-available', input: { city: 'Rome' }, output: 'Rome' };
  expect(
    (await readChunks(chunks)).parts.filter(({ type }) => type === 'dynamic-tool'),
  ).toMatchObject([part]);
  const stored = toUiMessages(await agent.messages())[1]!;
  expect(stored.parts.filter(({ type }) => type === 'dynamic-tool')).toMatchObject([part]);
});
