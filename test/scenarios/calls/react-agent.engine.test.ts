import { expect, test } from 'vitest';
import * as z from 'zod';
import {
  AgentError,
  InMemoryMemory,
  ReActAgent,
  textOf,
  tool,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  type AgentEvent,
  type AgentOptions,
  type Msg,
} from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { eventsOf, scriptedAgent } from '../../support/scripted-agent.ts';
import { countedSignal } from '../../support/counted-signal.ts';

const add = tool({
  name: 'add',
  description: 'Adds two numbers',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }, { emit }) => {
    emit({ adding: [a, b] });
    return a + b;
  },
});

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  const memory = new InMemoryMemory();
  let id = 0;
  const agent = new ReActAgent({
    name: 'a',
    model,
    memory,
    tools: [add],
    generateId: () => `id${++id}`,
    now: () => 1_000,
    ...options,
  });
  return { agent, model, memory };
}

const types = (events: readonly AgentEvent[]): string[] => events.map((event) => event.type);
const call = (a: number, b: number) => ({ name: 'add', input: { a, b } });

/**
 * Checks a request: tool results directly follow their tool calls in the same order, and each
 * result has a tool call.
 */
function expectValid(messages: readonly Msg[]): void {
  const expected: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      for (const { toolUseId } of toolResultsOf(message)) expect(toolUseId).toBe(expected.shift());
      continue;
    }
    expect(expected).toEqual([]);
    expected.push(...toolUsesOf(message).map(({ id }) => id));
  }
  expect(expected).toEqual([]);
}

test('call() returns the answer, and the next request contains the conversation', async () => {
  const { agent, model } = setUp(['Hello there.', 'You said hi.'], { systemPrompt: 'Be brief.' });
  const first = await agent.call('hi');
  expect(first).toMatchObject({
    text: 'Hello there.',
    reason: 'stop',
    iterations: 1,
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  await agent.call('what did I say?');
  expect(model.requests[1]!.messages.map((message) => [message.role, textOf(message)])).toEqual([
    ['system', 'Be brief.'],
    ['user', 'hi'],
    ['assistant', 'Hello there.'],
    ['user', 'what did I say?'],
  ]);
});

test('emits the events of a run with a tool in the documented order', async () => {
  const { agent } = setUp([{ text: 'I add.', toolCalls: [call(1, 2)] }, 'It is 3.']);
  const stream = agent.stream('1+2?');
  const events = await eventsOf(stream);
  expect(types(events)).toEqual([
    'run-start',
    'pre-call',
    'pre-reasoning',
    'reasoning-chunk',
    'reasoning-chunk',
    'tool-input-chunk',
    'post-reasoning',
    'pre-acting',
    'acting-chunk',
    'post-acting',
    'pre-reasoning',
    'reasoning-chunk',
    'reasoning-chunk',
    'reasoning-chunk',
    'post-reasoning',
    'post-call',
    'run-end',
  ]);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  expect(new Set(events.map((event) => event.runId))).toEqual(new Set([stream.runId]));
  expect(events.find((event) => event.type === 'post-acting')?.result).toMatchObject({
    output: '3',
    state: 'success',
  });
  expect(await stream.result).toMatchObject({
    text: 'It is 3.',
    toolsUsed: ['add'],
    iterations: 2,
  });
});

test('parallel tools finish in any order, and readers of the conversation and the model get their results in request order', async () => {
  const gates = new Map<number, () => void>();
  const wait = tool({
    name: 'wait',
    description: 'Waits for its gate',
    input: z.object({ n: z.number() }),
    execute: async ({ n }) => {
      await new Promise<void>((resolve) => gates.set(n, resolve));
      return `done ${n}`;
    },
  });
  const toolCalls = [1, 2, 3].map((n) => ({ name: 'wait', input: { n } }));
  const { agent, model } = setUp([{ toolCalls }, 'ok'], { tools: [wait] });
  const finished: string[] = [];
  for await (const event of agent.stream('go')) {
    if (event.type === 'pre-acting' && event.toolUse.id === 'call_3')
      queueMicrotask(() => void openWhenReady(gates, 3));
    if (event.type !== 'post-acting') continue;
    finished.push(event.toolUse.id);
    gates.get(event.toolUse.id === 'call_3' ? 2 : 1)?.();
  }
  expect(finished).toEqual(['call_3', 'call_2', 'call_1']);
  const results = (messages: readonly Msg[]) =>
    messages.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId);
  expect(results(await agent.messages())).toEqual(['call_1', 'call_2', 'call_3']);
  expect(results(model.requests[1]!.messages)).toEqual(['call_1', 'call_2', 'call_3']);
});

async function openWhenReady(gates: ReadonlyMap<number, () => void>, n: number): Promise<void> {
  while (!gates.has(n)) await Promise.resolve();
  gates.get(n)!();
}

test('`limits.parallelTools` limits how many tools run at the same time', async () => {
  let running = 0;
  let most = 0;
  const slow = tool({
    name: 'slow',
    description: 'Counts who runs beside it',
    input: { type: 'object' },
    execute: async () => {
      most = Math.max(most, ++running);
      for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
      running -= 1;
      return 'ok';
    },
  });
  const toolCalls = Array.from({ length: 7 }, () => ({ name: 'slow' }));
  const { agent } = setUp([{ toolCalls }, 'done'], { tools: [slow], limits: { parallelTools: 3 } });
  await agent.call('go');
  expect(most).toBe(3);
});

test.for([
  [
    'an unknown tool',
    { name: 'subtract', input: {} },
    /Tool not found: subtract\. Available: add\./,
  ],
  ['arguments that are not JSON', { name: 'add', input: '{"a": 1, ' }, /not valid JSON/],
  [
    'arguments that do not fit',
    { name: 'add', input: { a: 1, b: 'two' } },
    /do not fit its schema:\n- b: /,
  ],
] as const)(
  '%s is an error result that the model gets, and the tool does not run',
  async ([, toolCall, message]) => {
    let ran = false;
    const guarded = tool({
      name: 'add',
      description: 'Adds',
      input: z.object({ a: z.number(), b: z.number() }),
      execute: () => void (ran = true),
    });
    const { agent, model } = setUp([{ toolCalls: [toolCall] }, 'sorry'], { tools: [guarded] });
    const events = await eventsOf(agent.stream('go'));
    expect(ran).toBe(false);
    const problem = events.flatMap((event) => (event.type === 'pre-acting' ? event.problem : []));
    expect(problem).toEqual([expect.stringMatching(message)]);
    const result = model.requests[1]!.messages.flatMap(toolResultsOf)[0]!;
    expect(result.state).toBe('error');
    expect(result.output).toMatch(message);
  },
);

test('a tool that throws causes an error result, and the run continues', async () => {
  const broken = tool({
    name: 'broken',
    description: 'Fails',
    input: { type: 'object' },
    execute: () => {
      throw new Error('disk on fire');
    },
  });
  const { agent, model } = setUp([{ toolCalls: [{ name: 'broken' }, call(1, 1)] }, 'noted'], {
    tools: [broken, add],
  });
  expect((await agent.call('go')).text).toBe('noted');
  expect(model.requests[1]!.messages.flatMap(toolResultsOf)).toMatchObject([
    { state: 'error', output: 'Error: disk on fire' },
    { state: 'success', output: '2' },
  ]);
});

test('a tool that exceeds its timeout is aborted and gets an error result', async () => {
  let reason: unknown;
  const stuck = tool({
    name: 'stuck',
    description: 'Never ends',
    input: { type: 'object' },
    timeoutMs: 1,
    execute: (_input, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => (reason = signal.reason))),
  });
  const { agent, model } = setUp([{ toolCalls: [{ name: 'stuck' }] }, 'gave up'], {
    tools: [stuck],
  });
  expect((await agent.call('go')).text).toBe('gave up');
  expect(model.requests[1]!.messages.flatMap(toolResultsOf)[0]).toMatchObject({
    state: 'error',
    output: 'Error: Tool "stuck" timed out after 1 ms',
  });
  expect(reason).toMatchObject({ code: 'TOOL_TIMEOUT' });
});

test('at the limit of iterations, the answer is a summary from a request without tools', async () => {
  const { agent, model } = setUp(
    [{ toolCalls: [call(1, 1)] }, { toolCalls: [call(2, 2)] }, 'So far: 2 and 4.'],
    {
      limits: { iterations: 2 },
    },
  );
  const events = await eventsOf(agent.stream('keep adding'));
  expect(types(events).slice(-7)).toEqual(
    [
      'pre-summary',
      'summary-chunk',
      'summary-chunk',
      'summary-chunk',
      'summary-chunk',
      'summary-chunk',
      'post-summary',
      'post-call',
      'run-end',
    ].slice(-7),
  );
  expect(events.at(-1)).toMatchObject({
    result: { reason: 'max-iterations', text: 'So far: 2 and 4.', iterations: 2 },
  });
  expect(model.requests[2]!.tools).toEqual([]);
  expectValid(model.requests[2]!.messages);
  expect((await agent.messages()).map((message) => message.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'tool',
    'assistant',
  ]);
});

test('a busy agent rejects a second call, and the first continues', async () => {
  const { agent } = setUp(['fine']);
  const stream = agent.stream('one');
  const iterator = stream[Symbol.asyncIterator]();
  await iterator.next();
  await expect(agent.call('two')).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  while (!(await iterator.next()).done);
  expect((await stream.result).text).toBe('fine');
});

test('a model failure rejects with its code, after error and run-end, and the next call works', async () => {
  const failure = new AgentError('MODEL_RATE_LIMITED', 'slow down', { retryable: true });
  const { agent } = setUp([{ text: 'half an ', error: failure }, 'whole']);
  const seen: AgentEvent[] = [];
  const stream = agent.stream('go');
  await expect(
    (async () => {
      for await (const event of stream) seen.push(event);
    })(),
  ).rejects.toBe(failure);
  expect(types(seen).slice(-2)).toEqual(['error', 'run-end']);
  expect(seen.at(-1)).toMatchObject({
    result: { reason: 'error', error: { code: 'MODEL_RATE_LIMITED', retryable: true } },
  });
  await expect(stream.result).rejects.toBe(failure);
  expect((await agent.call('again')).text).toBe('whole');
});

test('throwOnError: false returns a failure as a result', async () => {
  const { agent } = setUp([{ error: new AgentError('MODEL_SERVER', 'down') }]);
  expect(await agent.call('go', { throwOnError: false })).toMatchObject({
    reason: 'error',
    text: '',
    error: { code: 'MODEL_SERVER', message: 'down' },
  });
});

test('an abort while the model answers keeps the text so far, and the next call works', async () => {
  const { agent, model } = setUp([{ text: 'one two', hang: true }, 'fresh']);
  const controller = new AbortController();
  const stream = agent.stream('count', { signal: controller.signal });
  for await (const event of stream)
    if (event.type === 'reasoning-chunk' && event.delta === 'two') controller.abort();
  expect(await stream.result).toMatchObject({
    reason: 'aborted',
    text: 'one two',
    message: { metadata: { partial: 'aborted' } },
  });
  await agent.call('go on');
  expect(model.requests[1]!.messages.map(textOf)).toEqual(['count', 'one two', 'go on']);
});

test('an abort while tools run closes their tool calls as interrupted, even if a tool ignores the signal', async () => {
  const deaf = tool({
    name: 'deaf',
    description: 'Never ends',
    input: { type: 'object' },
    execute: () => new Promise(() => {}),
  });
  const { agent, model } = setUp([{ toolCalls: [{ name: 'deaf' }, call(1, 2)] }, 'after'], {
    tools: [deaf, add],
  });
  const controller = new AbortController();
  const stream = agent.stream('go', { signal: controller.signal });
  for await (const event of stream) if (event.type === 'post-acting') controller.abort();
  expect((await stream.result).reason).toBe('aborted');
  await agent.call('next');
  expectValid(model.requests[1]!.messages);
  expect(model.requests[1]!.messages.flatMap(toolResultsOf).map(({ state }) => state)).toEqual([
    'interrupted',
    'success',
  ]);
});

test('with a signal that is already aborted, call() makes no model request', async () => {
  const { agent, model } = setUp(['never']);
  expect((await agent.call('go', { signal: AbortSignal.abort() })).reason).toBe('aborted');
  expect(model.requests).toEqual([]);
});

test('leaving the loop over a stream cancels the run and keeps a valid conversation', async () => {
  const { agent, model } = setUp([{ text: 'one two three' }, 'fresh']);
  const stream = agent.stream('count');
  for await (const event of stream) if (event.type === 'reasoning-chunk') break;
  expect((await stream.result).reason).toBe('aborted');
  expect(model.reads).toBe(1);
  expect((await agent.messages()).map(textOf)).toEqual(['count', 'one ']);
  expect((await agent.call('again')).text).toBe('fresh');
});

test('when a reader stops, the agent also stops reading from the model', async () => {
  const { agent, model } = setUp(['a b c d e f']);
  const iterator = agent.stream('go').batches()[Symbol.asyncIterator]();
  for (let batch = 0; batch < 5; batch += 1) await iterator.next();
  expect(model.reads).toBe(2);
  await iterator.return(undefined);
});

test('a detached run continues without a reader, and a later reader gets all events with joined deltas', async () => {
  const { agent } = setUp(['a b c d']);
  const stream = agent.stream('go', { detached: true });
  expect((await stream.result).text).toBe('a b c d');
  const events = await eventsOf(stream);
  expect(types(events)).toEqual([
    'run-start',
    'pre-call',
    'pre-reasoning',
    'reasoning-chunk',
    'post-reasoning',
    'post-call',
    'run-end',
  ]);
  expect(events[3]).toMatchObject({ delta: 'a b c d' });
  expect(await eventsOf(stream)).toEqual(events);
});

test('a slow reader of a detached run misses nothing, and all readers get the same text', async () => {
  const { agent } = setUp(['one two three four five six']);
  const stream = agent.stream('go', { detached: true });
  const read = async (busyFor: number): Promise<string> => {
    let text = '';
    for await (const event of stream) {
      if (event.type === 'reasoning-chunk') text += event.delta;
      for (let tick = 0; tick < busyFor; tick += 1) await Promise.resolve();
    }
    return text;
  };
  expect(await Promise.all([read(0), read(7), read(40)])).toEqual(
    Array(3).fill('one two three four five six'),
  );
});

test('leaving the stream of a detached run does not affect the run', async () => {
  const { agent } = setUp(['one two three']);
  const stream = agent.stream('go', { detached: true });
  for await (const event of stream) if (event.type === 'pre-reasoning') break;
  await stream.cancel();
  expect((await stream.result).text).toBe('one two three');
});

test('wrapRequest also prepares the summary request at the limit of iterations', async () => {
  const seen: number[] = [];
  const { agent, model } = setUp([{ toolCalls: [call(1, 1)] }, 'done'], {
    limits: { iterations: 1 },
    use: [
      {
        wrapRequest: (draft, next) => {
          const { messages } = draft;
          seen.push(messages.length);
          return next({ ...draft, messages: messages.slice(0, 1) });
        },
      },
    ],
  });
  await agent.call('go');
  expect(seen).toEqual([1, 3]);
  expect(model.requests[1]!.messages).toHaveLength(2);
});

test('a run removes its listener from the caller’s signal when it ends', async () => {
  const { signal, listeners } = countedSignal();
  const { agent } = setUp(['one', { error: new Error('broken') }]);
  await agent.call('go', { signal });
  await agent.call('again', { signal, throwOnError: false });
  expect(listeners()).toBe(0);
});

test('a failure of an unread stream is not an unhandled rejection, and `result` rejects with the failure', async () => {
  const { agent } = setUp([{ error: new AgentError('MODEL_SERVER', 'down') }]);
  await expect(agent.stream('go').result).rejects.toMatchObject({ code: 'MODEL_SERVER' });
});

test('an interrupt between deltas keeps the partial text and answers with the recovery message', async () => {
  const { agent } = setUp([{ text: 'one two three', hang: true }, 'as you like']);
  const stream = agent.stream('count');
  const events: AgentEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.type === 'reasoning-chunk' && event.delta === 'two ') agent.interrupt();
  }
  const result = await stream.result;
  expect(result.reason).toBe('interrupted');
  expect(result.text).toMatch(/interrupted/);
  expect((await agent.messages()).map(textOf)).toEqual(['count', 'one two ', result.text]);
  const chunks = events.filter((event) => event.type === 'reasoning-chunk');
  expect(chunks.at(-1)).toMatchObject({ delta: result.text });
  expect(chunks.at(-1)!.blockId).not.toBe(chunks[0]!.blockId);
  expect((await agent.call('stop at two')).text).toBe('as you like');
});

test('an interrupt stops a model that sends nothing, and answers with the given message', async () => {
  const { agent } = setUp([{ hang: true }]);
  const stream = agent.stream('go');
  for await (const event of stream)
    if (event.type === 'pre-reasoning') queueMicrotask(() => agent.interrupt('Stopped by you.'));
  expect(await stream.result).toMatchObject({ reason: 'interrupted', text: 'Stopped by you.' });
});

test('an interrupt lets running tools finish', async () => {
  const self: { agent?: ReActAgent } = {};
  const slow = tool({
    name: 'slow',
    description: 'Interrupts its own agent',
    input: { type: 'object' },
    execute: async () => {
      self.agent!.interrupt();
      await Promise.resolve();
      return 'finished';
    },
  });
  const { agent } = setUp([{ toolCalls: [{ name: 'slow' }] }], { tools: [slow] });
  self.agent = agent;
  expect((await agent.call('go')).reason).toBe('interrupted');
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { state: 'success', output: 'finished' },
  ]);
});

test('call() closes the open tool calls of an earlier process before the model request', async () => {
  const memory = new InMemoryMemory([
    userMessage('go', { id: 'u1' }),
    {
      id: 'a1',
      role: 'assistant',
      content: [{ type: 'tool_use', id: 't1', name: 'add', input: { a: 1, b: 2 } }],
      createdAt: '2026-01-01T00:00:00.000Z',
    },
  ]);
  const { agent, model } = setUp(['It was interrupted.'], { memory });
  expect((await agent.call()).text).toBe('It was interrupted.');
  expectValid(model.requests[0]!.messages);
  expect(model.requests[0]!.messages.flatMap(toolResultsOf)[0]).toMatchObject({
    toolUseId: 't1',
    state: 'interrupted',
  });
});

test('the agent replaces empty and duplicate tool call ids, and keeps the provider’s other ids', async () => {
  const { agent, model } = setUp([
    { toolCalls: [{ ...call(1, 1), id: 'same' }] },
    {
      toolCalls: [
        { ...call(2, 2), id: 'same' },
        { ...call(3, 3), id: '' },
      ],
    },
    'ok',
  ]);
  await agent.call('go');
  const uses = model.requests[2]!.messages.flatMap(toolUsesOf);
  expect(new Set(uses.map(({ id }) => id)).size).toBe(3);
  expect(uses.map(({ providerMetadata }) => providerMetadata)).toEqual([
    undefined,
    { id: 'same' },
    undefined,
  ]);
  expectValid(model.requests[2]!.messages);
});

test.for(['', '   \n'])('call() rejects an empty input (%j)', async (input) => {
  const { agent, model } = setUp(['x']);
  await expect(agent.call(input)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect(model.requests).toEqual([]);
});

test('call() rejects a missing input on an empty or an answered conversation', async () => {
  const { agent } = setUp(['done']);
  await expect(agent.call()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await agent.call('hi');
  await expect(agent.call()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('a store that is full ends the call with the store’s error code, and no tool keeps running', async () => {
  const memory = new InMemoryMemory();
  const append = memory.append.bind(memory);
  memory.append = async (messages) => {
    if (messages.some((message) => message.role === 'tool'))
      throw new AgentError('STORAGE_QUOTA', 'The disk is full.');
    await append(messages);
  };
  let stopped = false;
  const slow = tool({
    name: 'slow',
    description: 'Waits to be stopped',
    input: { type: 'object' },
    execute: (_input, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve((stopped = true)))),
  });
  const { agent } = setUp([{ toolCalls: [{ name: 'slow' }, call(1, 1)] }], {
    memory,
    tools: [slow, add],
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'STORAGE_QUOTA' });
  expect(stopped).toBe(true);
});

test('messages passed to observe() are part of the next request', async () => {
  const { agent, model } = setUp(['I know.']);
  await agent.observe('The meeting moved to three.');
  await agent.call('when is it?');
  expect(model.requests[0]!.messages.map(textOf)).toEqual([
    'The meeting moved to three.',
    'when is it?',
  ]);
});

test('`topP`, `seed` and `stop` of a call override those of the agent', async () => {
  const model = new ScriptedModel(['1', '2']);
  const generate = { topP: 0.5, seed: 7, stop: ['END'] } as const;
  const agent = new ReActAgent({ name: 'a', model, generate });
  await agent.call('Hi');
  await agent.call('Hi', { topP: 1, seed: -8, stop: [] });
  expect(model.requests.map(({ topP, seed, stop }) => [topP, seed, stop])).toEqual([
    [0.5, 7, ['END']],
    [1, -8, []],
  ]);
});

test('call() accepts a text, a message, or several messages, each with options', async () => {
  const { agent, model } = scriptedAgent(['1', '2', '3', '4'], {
    generate: { temperature: 1, maxTokens: 9 },
  });
  await agent.call('text');
  await agent.call(userMessage('message'), { temperature: 0.5 });
  await agent.call([userMessage('some'), userMessage('messages')], { maxTokens: 5 });
  await agent.call('again');
  expect(model.requests.map(({ temperature, maxTokens }) => [temperature, maxTokens])).toEqual([
    [1, 9],
    [0.5, 9],
    [1, 5],
    [1, 9],
  ]);
  expect(model.requests[3]!.messages.map(textOf)).toEqual([
    'text',
    '1',
    'message',
    '2',
    'some',
    'messages',
    '3',
    'again',
  ]);
});
