import { expect, test } from 'vitest';
import * as z from 'zod';
import {
  type AgentEvent,
  type AgentResult,
  InMemoryMemory,
  MemoryStore,
  SessionMemory,
  assistantMessage,
  toolMessage,
  userMessage,
  textOf,
  toolResultsOf,
  type Msg,
  tool,
  ReActAgent,
  type AgentOptions,
} from '@isoloop/core';
import { adoptRecords } from '@isoloop/core/move';
import { createUiMessageEncoder, textStream } from '@isoloop/core/stream';
import type { LogRecord } from '@isoloop/core/log';
import { jsonMode, structured } from '@isoloop/core/output';
import { loadState, saveState } from '@isoloop/core/state';
import { orderFaults } from '../../support/order-faults.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';
import { agentTool } from '@isoloop/core/several';
import { scriptedAgent } from '../../support/scripted-agent.ts';

function open(
  replies: readonly ScriptedReply[],
  options: Partial<AgentOptions> & { readonly store?: MemoryStore } = {},
) {
  const { store = new MemoryStore(), ...rest } = options;
  const memory = new SessionMemory(store, 's');
  const { agent, model } = scriptedAgent(replies, { sessionId: 's', memory, ...rest });
  return { agent, memory, model, store };
}

/** Makes an agent call without input and collects its events. */
async function goOn(agent: ReActAgent, options = {}) {
  const events: AgentEvent[] = [];
  const stream = agent.stream(undefined, options);
  for await (const event of stream) events.push(event);
  const result = await stream.result;
  expect(orderFaults(events)).toEqual([]);
  return { events, result, types: events.map(({ type }) => type) };
}

/** Writes records into the session’s log, as a host that died would have left them. */
async function leave(store: MemoryStore, ...records: readonly LogRecord[]): Promise<void> {
  await adoptRecords(new SessionMemory(store, 's'), records);
}

const message = (given: Msg): LogRecord => ({ kind: 'message', message: given });
const begun: LogRecord = { kind: 'run-begin', runId: 'first' };
const asked = message(userMessage('Why?', { id: 'why' }));
const texts = async (agent: ReActAgent): Promise<readonly string[]> =>
  (await agent.messages()).map((one) => `${one.role}: ${textOf(one)}`);
const startOf = (events: readonly AgentEvent[]) =>
  events[0]?.type === 'run-start' ? events[0].resumes : undefined;

test.each([
  ['the recovery message', undefined],
  ['a text', 'Stopped by Ann.'],
  ['a message', assistantMessage('Stopped.', { id: 'own', metadata: { by: 'Ann' } })],
  ['a message of the user', userMessage('Stop!', { id: 'own' })],
] as const)(
  'a call without input removes an interrupted reply and %s, and asks the model again',
  async (_name, words) => {
    const first = open(['One two three.']);
    const stream = first.agent.stream('Count.');
    for await (const event of stream)
      if (event.type === 'reasoning-chunk' && event.delta === 'two ') first.agent.interrupt(words);
    const before = await stream.result;
    expect(before.reason).toBe('interrupted');

    for (const make of [() => first.agent, () => open(['Four.'], { store: first.store }).agent]) {
      const agent = make();
      if (agent === first.agent) continue;
      const { events, result } = await goOn(agent);
      expect(result).toMatchObject({ reason: 'stop', text: 'Four.' });
      expect(events.filter(({ type }) => type === 'step-reset')).toHaveLength(1);
      expect(startOf(events)).toBe(stream.runId);
      expect(await texts(agent)).toEqual(['user: Count.', 'assistant: Four.']);
      await expect(agent.call()).rejects.toThrow('input is missing');
    }
  },
);

test('the interrupted agent continues in the same way with a memory that has no log', async () => {
  const { agent } = scriptedAgent(['One two.', 'Three.'], { memory: new InMemoryMemory() });
  const stream = agent.stream('Count.');
  for await (const event of stream) if (event.type === 'reasoning-chunk') agent.interrupt();
  const { events, result } = await goOn(agent);
  expect(result.text).toBe('Three.');
  expect(startOf(events)).toBe(stream.runId);
  expect(await texts(agent)).toEqual(['user: Count.', 'assistant: Three.']);
});

test('a call without input after an interrupt keeps the tool results and runs no tool again', async () => {
  let runs = 0;
  const step = tool({
    name: 'step',
    description: '',
    input: {},
    execute: () => {
      runs += 1;
      first.agent.interrupt();
      return 'done';
    },
  });
  const options = { tools: [step], limits: { parallelTools: 1 } };
  const first = open([{ toolCalls: [{ name: 'step' }, { name: 'step' }] }], options);
  expect((await first.agent.call('Go.')).reason).toBe('interrupted');
  const { agent, model } = open(['Well.'], { ...options, store: first.store });
  const { result } = await goOn(agent);
  expect(result.text).toBe('Well.');
  expect(runs).toBe(1);
  const results = model.requests[0]!.messages.flatMap(toolResultsOf);
  expect(results.map(({ state }) => state)).toEqual(['success', 'interrupted']);
});

test('a resumed run that is interrupted can be continued again', async () => {
  const store = new MemoryStore();
  await leave(store, begun, asked);
  for (const _time of [1, 2]) {
    const { agent } = open(['So what'], { store });
    const stream = agent.stream();
    for await (const event of stream) if (event.type === 'reasoning-chunk') agent.interrupt();
    expect((await stream.result).reason).toBe('interrupted');
  }
  const { agent } = open(['Because.'], { store });
  await agent.call();
  expect(await texts(agent)).toEqual(['user: Why?', 'assistant: Because.']);
});

test('a call with new input after an interrupt removes nothing', async () => {
  const first = open(['One two.', 'Hello.']);
  const stream = first.agent.stream('Count.');
  for await (const event of stream)
    if (event.type === 'reasoning-chunk') first.agent.interrupt('No.');
  await first.agent.call('Hi.');
  expect(await texts(first.agent)).toEqual([
    'user: Count.',
    'assistant: One ',
    'assistant: No.',
    'user: Hi.',
    'assistant: Hello.',
  ]);
});

test.each(['aborted', 'suspended'])(
  'a call without input removes a reply that was %s and emits a step-reset',
  async (how) => {
    const first = open(['One two three.']);
    const controller = new AbortController();
    const stream = first.agent.stream('Count.', { signal: controller.signal });
    for await (const event of stream) {
      if (event.type !== 'reasoning-chunk' || event.delta !== 'two ') continue;
      if (how === 'aborted') controller.abort();
      else first.agent.interrupt({ mode: 'pause' });
    }
    await stream.result;
    const { agent } = open(['Four.'], { store: first.store });
    const { events, result } = await goOn(agent);
    expect(startOf(events)).toBe(stream.runId);
    expect(events.some((event) => event.type === 'step-reset' && event.reason === 'resume')).toBe(
      true,
    );
    expect(result.text).toBe('Four.');
    expect(await texts(agent)).toEqual(['user: Count.', 'assistant: Four.']);
  },
);

test('the removal of a reply and the start of the new run are one write', async () => {
  const store = new MemoryStore();
  const half = assistantMessage('One', { id: 'half', metadata: { partial: 'suspended' } });
  await leave(store, begun, asked, message(half), {
    kind: 'run-end',
    runId: 'first',
    reason: 'suspended',
  });
  let seen: object | undefined;
  const use = [
    {
      on: {
        'pre-reasoning': async () => {
          seen = await new SessionMemory(store, 's').view();
        },
      },
    },
  ];
  await open(['Four.'], { store, use }).agent.call();
  expect(seen).toMatchObject({ endReason: undefined, messages: [{ id: 'why' }] });
});

/**
 * Creates the log of a host that died after it stored the answer and before it stored the end of
 * the run.
 */
async function unended(metadata = {}, text = 'Because.'): Promise<MemoryStore> {
  const store = new MemoryStore();
  await leave(store, asked, message(assistantMessage(text, { id: 'because', metadata })), begun);
  return store;
}

test('an answer whose run did not end is returned without a model request, after the post-call hooks', async () => {
  const store = await unended();
  const seen: string[] = [];
  const use = [
    {
      on: {
        'post-call': (event: AgentEvent & { readonly message: Msg }) => {
          seen.push(textOf(event.message));
          return { ...event, message: assistantMessage('Because. That is why.') };
        },
      },
    },
  ];
  const { agent, memory, model } = open([], { store, use: use as never });
  const { events, types, result } = await goOn(agent);
  expect(result).toMatchObject({ reason: 'stop', text: 'Because.', message: { id: 'because' } });
  expect(types).toEqual([
    'run-start',
    'pre-call',
    'step-reset',
    'reasoning-chunk',
    'post-call',
    'run-end',
  ]);
  expect(startOf(events)).toBe('first');
  expect([seen, model.requests]).toEqual([['Because.'], []]);
  expect(await memory.view()).toMatchObject({ openRunId: undefined, endReason: 'stop' });
  expect(await texts(agent)).toEqual(['user: Why?', 'assistant: Because.']);
  await expect(agent.call()).rejects.toThrow('input is missing');
});

test('every stream format contains a stored answer that a call returns again', async () => {
  const read = async (take: (agent: ReActAgent) => Promise<string>): Promise<string> =>
    take(open([], { store: await unended() }).agent);
  const ui = await read(async (agent) => {
    const encoder = createUiMessageEncoder();
    let text = '';
    for await (const batch of agent.stream().batches())
      for (const chunk of encoder.encode(batch))
        if (chunk.type === 'text-delta') text += chunk.delta;
    return text;
  });
  const plain = await read(async (agent) => {
    let text = '';
    for await (const piece of textStream(agent.stream())) text += piece;
    return text;
  });
  expect([ui, plain]).toEqual(['Because.', 'Because.']);
});

test('if a post-call hook throws, the next call returns the stored answer', async () => {
  const store = await unended();
  const use = [{ on: { 'post-call': () => Promise.reject(new Error('down')) } }];
  await expect(open([], { store, use }).agent.call()).rejects.toThrow('down');
  expect((await open([], { store }).agent.call()).text).toBe('Because.');
});

test('the next call returns an answer that was stored although the write reported a failure', async () => {
  class Failing extends SessionMemory {
    override async append(messages: readonly Msg[]): Promise<void> {
      await super.append(messages);
      if (messages.some(({ role }) => role === 'assistant')) throw new Error('no space');
    }
  }
  const store = new MemoryStore();
  const memory = new Failing(store, 's');
  await expect(open(['Because.'], { store, memory }).agent.call('Why?')).rejects.toThrow(
    'no space',
  );
  const { agent, model } = open([], { store });
  expect(await agent.call()).toMatchObject({ reason: 'stop', text: 'Because.' });
  expect(model.requests).toEqual([]);
});

test('a saved state of an unfinished run continues in another agent in the same way', async () => {
  const state = await saveState(open([], { store: await unended() }).agent);
  const { agent } = open([]);
  await loadState(agent, JSON.parse(JSON.stringify(state)));
  expect(await agent.call()).toMatchObject({ reason: 'stop', text: 'Because.' });
});

const doubled = z.object({ n: z.number().transform((n) => n * 2) });
const tries = [
  ['by tool', structured(doubled), { toolCalls: [{ name: 'generate_response', input: { n: 2 } }] }],
  ['by prompt', structured(doubled, { mode: 'prompt' }), '{"n": 2}'],
  ['by jsonMode', jsonMode(doubled), 'So: {"n": 2}'],
] as const;

test.each(tries)(
  'a stored answer returns its structured value again, even if the schema transforms values: %s',
  async (_name, output, reply) => {
    const first = open([reply]);
    const answer: AgentResult = await first.agent.call('Why?', { output });
    expect(answer.output).toEqual({ n: 4 });
    expect(answer.message.metadata).toMatchObject({ output: { n: 4 }, outputJson: { n: 2 } });
    const store = new MemoryStore();
    await leave(store, asked, message(answer.message), begun);
    const { agent, model } = open([], { store });
    const { result } = await goOn(agent, { output });
    expect(result).toMatchObject({ reason: 'stop', text: '{"n":4}', output: { n: 4 } });
    expect(result.message).toEqual(answer.message);
    expect(model.requests).toEqual([]);
  },
);

test.each(tries)(
  'a call asks the model again if the stored answer has no valid value: %s',
  async (_name, output, reply) => {
    for (const metadata of [{}, { output: { n: 'two' } }]) {
      const store = await unended(metadata);
      const { agent, model } = open([reply], { store });
      const result: AgentResult = await agent.call(undefined, { output });
      expect(result.output).toEqual({ n: 4 });
      expect(model.requests).toHaveLength(1);
      expect(await texts(agent)).toEqual(['user: Why?', 'assistant: {"n":4}']);
    }
  },
);

test('a value is read from the text of a stored answer, and the log gets the parsed result', async () => {
  const { agent } = open([], { store: await unended({}, '```json\n{"n": 2}\n```') });
  const output = structured(doubled, { mode: 'prompt' });
  const result = await agent.call(undefined, { output });
  expect(result).toMatchObject({ text: '{"n":4}', output: { n: 4 } });
  expect(await agent.messages()).toMatchObject([{ id: 'why' }, result.message]);
});

test('a value that the output tool received before the host died needs no model request', async () => {
  const store = new MemoryStore();
  const call = { type: 'tool_use', id: 'v', name: 'generate_response', input: { n: 2 } } as const;
  const given = toolMessage({
    type: 'tool_result',
    toolUseId: 'v',
    name: 'generate_response',
    output: 'Received.',
    state: 'success',
  });
  await leave(store, asked, message(assistantMessage([call])), message(given), begun);
  const { agent, model } = open([], { store });
  const result = await agent.call(undefined, { output: structured(doubled) });
  expect(result).toMatchObject({ reason: 'stop', output: { n: 4 } });
  expect(model.requests).toEqual([]);
  expect(await texts(agent)).toEqual(['user: Why?', 'assistant: {"n":4}']);
});

test('after a call that found no value, the next call removes the last attempt and asks again', async () => {
  const first = open(['No.', 'Never.']);
  const output = structured(doubled, { mode: 'prompt', attempts: 2 });
  await expect(first.agent.call('Why?', { output })).rejects.toThrow('no value');
  const { agent } = open(['{"n": 2}'], { store: first.store });
  expect((await agent.call(undefined, { output })).output).toEqual({ n: 4 });
  expect(await texts(agent)).toEqual(['user: Why?', 'assistant: {"n":4}']);
});

test('a stored reply that the text protocol rejected is not returned as the answer', async () => {
  const store = new MemoryStore();
  const invalid = assistantMessage('{', { id: 'bad', metadata: { correction: 'reply' } });
  await leave(store, asked, message(invalid), begun);
  const { agent } = open(['Because.'], { store, use: [textToolCalls()] });
  expect((await agent.call()).text).toBe('Because.');
  expect(await texts(agent)).toEqual(['user: Why?', 'assistant: Because.']);
});

test('stored results of a returnDirect tool are returned without a model request', async () => {
  const direct = tool({
    name: 'direct',
    description: '',
    input: {},
    returnDirect: true,
    execute: () => 'Direct.',
  });
  const first = open([{ toolCalls: [{ name: 'direct' }] }], { tools: [direct] });
  const result = await first.agent.call('Go.');
  const messages = await first.agent.messages();
  const store = new MemoryStore();
  await leave(store, ...messages.slice(0, -1).map(message), begun);
  const { agent, model } = open([], { store, tools: [direct] });
  expect(await agent.call()).toMatchObject({ reason: 'return-direct', text: result.text });
  expect(model.requests).toEqual([]);
});

test.each([
  ['a partial reply', { partial: 'suspended' }, 'session_id: call\n\nAll of it.'],
  ['an answer', {}, 'session_id: call\n\nHalf'],
  ['the text of an interrupt', { reason: 'interrupted' }, 'session_id: call\n\nHalf'],
])(
  'agentTool() continues or returns the log of its child that ends with %s',
  async (_name, metadata, expected) => {
    const child = new InMemoryMemory([
      userMessage('Do it.', { id: 's:call' }),
      assistantMessage('Half', { metadata }),
    ]);
    const delegate = agentTool(
      () =>
        new ReActAgent({ name: 'child', model: new ScriptedModel(['All of it.']), memory: child }),
      { name: 'child', description: '', replay: 'safe' },
    );
    const store = new MemoryStore();
    const call = {
      type: 'tool_use',
      id: 'call',
      name: 'call_child',
      input: { message: 'Do it.' },
    } as const;
    await leave(store, asked, message(assistantMessage([call])), begun, {
      kind: 'call-started',
      toolUseId: 'call',
    });
    const { agent } = open(['Done.'], { store, tools: [delegate] });
    expect((await agent.call()).text).toBe('Done.');
    const results = (await agent.messages()).flatMap(toolResultsOf);
    expect(results.map(({ output }) => output)).toEqual([expected]);
  },
);

test('a stream without input on a finished log fails with INVALID_INPUT', async () => {
  const { agent } = open(['Hello.']);
  await expect(agent.stream().result).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await agent.call('Hi.');
  const result = await agent.call(undefined, { throwOnError: false });
  expect(result).toMatchObject({ reason: 'error', error: { code: 'INVALID_INPUT' } });
  expect(await agent.stream([]).result.catch(({ code }: { code: string }) => code)).toBe(
    'INVALID_INPUT',
  );
});

test('a call that is aborted before it begins removes nothing, and the next call continues the run', async () => {
  const store = new MemoryStore();
  const half = assistantMessage('One', { id: 'half', metadata: { partial: 'interrupted' } });
  await leave(store, asked, message(half), {
    kind: 'run-end',
    runId: 'first',
    reason: 'interrupted',
  });
  const { agent } = open(['Because.'], { store });
  const signal = AbortSignal.abort();
  expect((await agent.call(undefined, { signal })).reason).toBe('aborted');
  expect(await texts(agent)).toEqual(['user: Why?', 'assistant: One']);
  expect((await agent.call()).text).toBe('Because.');
  expect(await texts(agent)).toEqual(['user: Why?', 'assistant: Because.']);
});

test('an aborted call still returns an answer that the log has', async () => {
  const { agent } = open([], { store: await unended() });
  const result = await agent.call(undefined, { signal: AbortSignal.abort() });
  expect(result).toMatchObject({ reason: 'stop', text: 'Because.' });
});

test("a call without input answers another agent's message that the agent observed", async () => {
  const model = new ScriptedModel(['I agree.']);
  const agent = new ReActAgent({ name: 'Cal', model });
  await agent.observe(assistantMessage('It is warm.', { name: 'Bob' }));
  expect((await agent.call()).text).toBe('I agree.');
  await expect(agent.call()).rejects.toThrow('input is missing');
  await agent.observe(assistantMessage('Mine.', { name: 'Cal' }));
  await expect(agent.call()).rejects.toThrow('input is missing');
});
