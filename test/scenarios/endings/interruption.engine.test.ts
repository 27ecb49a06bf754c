import { expect, test } from 'vitest';
import {
  AgentError,
  type AgentEvent,
  assistantMessage,
  createMessage,
  toolMessage,
  userMessage,
  textOf,
  toolResultsOf,
  MemoryStore,
  SessionMemory,
  type ChatModel,
  tool,
  type Tool,
  type Middleware,
  type AgentResult,
  type AgentStream,
  ReActAgent,
} from '@isoloop/core';
import { approvals, type ApprovalsOptions } from '@isoloop/core/approval';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import { orderFaults } from '../../support/order-faults.ts';
import type { ScriptedModel, ScriptedReply } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';
import { rolesOf } from '../../roles-of.ts';
import { countedSignal } from '../../support/counted-signal.ts';

const input = { type: 'object' } as const;

/** Creates a tool whose calls end when the test calls `open`. */
function gated(name = 'gated') {
  const signals: AbortSignal[] = [];
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const gate = tool({
    name,
    description: 'Waits for the test',
    input,
    async execute(_input, { signal }) {
      signals.push(signal);
      await opened;
      return 'finished';
    },
  });
  return { gate, open, signals };
}

/** Reads a stream to its end. `at` gets each event before the run continues. */
async function read(stream: AgentStream, at: (event: AgentEvent) => void = () => {}) {
  const events: AgentEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    at(event);
  }
  expect(orderFaults(events)).toEqual([]);
  return { events, result: await stream.result };
}

const isDelta = (event: AgentEvent, delta: string): boolean =>
  event.type === 'reasoning-chunk' && event.delta === delta;

async function expectWhole(agent: ReActAgent, model: ScriptedModel): Promise<void> {
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect(model.requests.flatMap(({ messages }) => requestFaults(messages))).toEqual([]);
}

test('interrupt() returns false before, between and after calls', async () => {
  const { agent } = scriptedAgent(['one', 'two']);
  expect(agent.interrupt()).toBe(false);
  const stream = agent.stream('go');
  expect(agent.interrupt('not begun')).toBe(false);
  await read(stream, (event) => event.type === 'run-end' && expect(agent.interrupt()).toBe(false));
  expect(agent.interrupt({ mode: 'inject', messages: 'too late' })).toBe(false);
  expect(await agent.call('again')).toMatchObject({ reason: 'stop', text: 'two' });
  expect((await agent.messages()).map(textOf)).toEqual(['go', 'one', 'again', 'two']);
});

const message = assistantMessage('As you said.', { id: 'mine' });

test.for([
  { request: undefined, options: {}, text: 'You interrupted me. What now?' },
  { request: undefined, options: { recoveryMessage: 'Yes?' }, text: 'Yes?' },
  { request: {}, options: { recoveryMessage: 'Yes?' }, text: 'Yes?' },
  { request: 'Fine.', options: { recoveryMessage: 'Yes?' }, text: 'Fine.' },
  { request: { message: 'Fine.' }, options: {}, text: 'Fine.' },
  { request: message, options: {}, text: 'As you said.' },
  { request: { mode: 'stop', message } as const, options: {}, text: 'As you said.' },
])(
  'interrupt($request) with $options ends with the answer "$text"',
  async ({ request, options, text }) => {
    const { agent, model } = scriptedAgent(
      [{ thinking: 'Well.', text: 'one two three' }, 'next'],
      options,
    );
    const { events, result } = await read(agent.stream('go'), (event) => {
      if (isDelta(event, 'one ')) expect(agent.interrupt(request)).toBe(true);
    });
    expect(result).toMatchObject({ reason: 'interrupted', text });
    if (text === textOf(message))
      expect(result.message).toEqual({
        ...message,
        name: 'a',
        metadata: { reason: 'interrupted' },
      });
    const log = await agent.messages();
    expect(log.map(textOf)).toEqual(['go', 'one ', text]);
    expect(log[1]).toMatchObject({
      metadata: { partial: 'interrupted' },
      content: [
        { type: 'thinking', thinking: 'Well.' },
        { type: 'text', text: 'one ' },
      ],
    });
    expect(events.at(-2)).toMatchObject({
      type: 'reasoning-chunk',
      delta: text,
      blockId: `${result.message.id}:0`,
    });
    expect(await agent.call('go on')).toMatchObject({ reason: 'stop', text: 'next' });
    expect(model.requests[1]!.messages.map(textOf)).toEqual(['go', 'one ', text, 'go on']);
  },
);

test('the first of two interrupts counts, and an interrupt affects only its own call', async () => {
  const { agent } = scriptedAgent(['one two', 'three']);
  const { result } = await read(
    agent.stream('go'),
    (event) => isDelta(event, 'one ') && agent.interrupt('first') && agent.interrupt('second'),
  );
  expect(result.text).toBe('first');
  expect((await agent.call('again')).reason).toBe('stop');
});

test('an interrupt removes a tool call that was incomplete', async () => {
  const { agent, model } = scriptedAgent([
    { text: 'Wait.', toolCalls: [{ name: 'none', input: { a: 1 } }] },
    'next',
  ]);
  await read(agent.stream('go'), (event) => event.type === 'tool-input-chunk' && agent.interrupt());
  expect((await agent.messages())[1]!.content).toEqual([{ type: 'text', text: 'Wait.' }]);
  expect((await agent.call('again')).text).toBe('next');
  await expectWhole(agent, model);
});

test('an interrupt lets running tools finish without aborting their signals, and queued tool calls never start', async () => {
  const { gate, open, signals } = gated();
  const first = gated('noisy');
  const noisy: Tool = {
    ...first.gate,
    execute(given, context) {
      context.emit('on');
      return first.gate.execute!(given, context);
    },
  };
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ name: 'noisy' }, { name: 'gated' }, { name: 'gated' }] }, 'next'],
    { tools: [gate, noisy], limits: { parallelTools: 2 } },
  );
  const { result } = await read(agent.stream('go'), (event) => {
    if (event.type !== 'acting-chunk') return;
    agent.interrupt();
    first.open();
    open();
  });
  expect(result.reason).toBe('interrupted');
  expect([...first.signals, ...signals].map(({ aborted }) => aborted)).toEqual([false, false]);
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { state: 'success' },
    { state: 'success', output: 'finished' },
    { state: 'interrupted', output: 'Interrupted before it ran.' },
  ]);
  expect((await agent.call('again')).text).toBe('next');
  await expectWhole(agent, model);
});

test.for(['post-reasoning', 'pre-acting'] as const)(
  'an interrupt at %s starts no tool',
  async (at) => {
    const { gate, signals } = gated();
    const { agent, model } = scriptedAgent(
      [{ toolCalls: [{ name: 'gated' }, { name: 'gated' }] }, 'next'],
      {
        tools: [gate],
      },
    );
    const stop = agent.addHook({ on: { [at]: () => void agent.interrupt() } });
    const { events, result } = await read(agent.stream('go'));
    stop();
    expect(result).toMatchObject({ reason: 'interrupted', toolsUsed: [] });
    expect(signals).toEqual([]);
    const begun = events.filter(({ type }) => type === 'pre-acting');
    expect(begun).toHaveLength(at === 'pre-acting' ? 1 : 0);
    expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
      { state: 'interrupted', output: 'Interrupted before it ran.' },
      { state: 'interrupted', output: 'Interrupted before it ran.' },
    ]);
    expect((await agent.call('again')).text).toBe('next');
    await expectWhole(agent, model);
  },
);

test('an interrupt while the store records the start of a tool call prevents the start', async () => {
  const { gate, signals } = gated();
  const memory = new SessionMemory(new MemoryStore(), 's');
  const { agent, model } = scriptedAgent([{ toolCalls: [{ name: 'gated' }] }, 'next'], {
    tools: [gate],
    memory,
  });
  const note = memory.note.bind(memory);
  memory.note = async (records, options) => {
    await note(records, options);
    if (records.some(({ kind }) => kind === 'call-started')) agent.interrupt();
  };
  expect((await agent.call('go')).reason).toBe('interrupted');
  expect(signals).toEqual([]);
  expect((await agent.call('again')).text).toBe('next');
  await expectWhole(agent, model);
});

test('an interrupt while `decide` decides about a tool call prevents its start', async () => {
  const { gate, signals } = gated();
  const { agent, model } = scriptedAgent([{ toolCalls: [{ name: 'gated' }] }, 'next'], {
    tools: [{ ...gate, needsApproval: true }],
    use: [
      approvals({
        decide: () => {
          agent.interrupt();
          return { type: 'approve' };
        },
      }),
    ],
  });
  expect((await agent.call('go')).reason).toBe('interrupted');
  expect(signals).toEqual([]);
  expect((await agent.call('again')).text).toBe('next');
  await expectWhole(agent, model);
});

test('an interrupt during approvals() ends the wait for decisions, and no tool call starts', async () => {
  const { gate, signals } = gated();
  const asked: AbortSignal[] = [];
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ name: 'gated' }, { name: 'gated' }] }, 'next'],
    {
      tools: [gate],
      use: [
        approvals({
          needsApproval: { gated: true },
          decide: (_pending, { signal }) => {
            asked.push(signal);
            return new Promise(() => {});
          },
        }),
      ],
    },
  );
  const call = agent.call('go');
  await expect.poll(() => asked).toHaveLength(2);
  expect(agent.interrupt('停')).toBe(true);
  expect(await call).toMatchObject({ reason: 'interrupted', text: '停', pending: [] });
  expect(asked.map(({ aborted }) => aborted)).toEqual([true, true]);
  expect(signals).toEqual([]);
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { state: 'interrupted', output: 'Interrupted before it ran.' },
    { state: 'interrupted', output: 'Interrupted before it ran.' },
  ]);
  expect((await agent.call('again')).text).toBe('next');
  await expectWhole(agent, model);
});

test('a pause during `decide` suspends the call, with the tool calls that need a decision as pending', async () => {
  const { gate, signals, open } = gated();
  const store = new MemoryStore();
  const host = (replies: readonly ScriptedReply[], decide: ApprovalsOptions['decide']) =>
    scriptedAgent(replies, {
      tools: [{ ...gate, needsApproval: true }],
      memory: new SessionMemory(store, 's'),
      use: [approvals({ decide: decide! })],
    });
  const first = host(
    [{ toolCalls: [{ name: 'gated' }] }],
    (_pending, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('no longer needed')));
        first.agent.interrupt({ mode: 'pause' });
      }),
  );
  expect(await first.agent.call('go')).toMatchObject({
    reason: 'suspended',
    pending: [{ toolUseId: 'call_1', kind: 'approval' }],
  });
  expect(signals).toEqual([]);
  open();
  const last = host(['done'], () => ({ type: 'approve' }));
  expect(await last.agent.call()).toMatchObject({ reason: 'stop', text: 'done' });
  expect(signals).toHaveLength(1);
});

test('an interrupt before decisions take effect keeps the given results and starts no tool', async () => {
  const { gate, signals } = gated();
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ name: 'gated' }, { name: 'gated' }, { name: 'gated' }] }, 'next'],
    { tools: [{ ...gate, needsApproval: true }] },
  );
  expect((await agent.call('go')).reason).toBe('suspended');
  const stop = agent.addHook({ on: { 'pre-call': () => void agent.interrupt() } });
  const result = await agent.call([
    { type: 'approve', toolUseId: 'call_1' },
    { type: 'result', toolUseId: 'call_2', output: 'mine' },
    { type: 'reject', toolUseId: 'call_3', reason: 'no' },
  ]);
  stop();
  expect(result.reason).toBe('interrupted');
  expect(signals).toEqual([]);
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { state: 'interrupted' },
    { state: 'success', output: 'mine' },
    { state: 'denied' },
  ]);
  expect((await agent.call('again')).text).toBe('next');
  await expectWhole(agent, model);
});

test.for([
  ['a user', userMessage('Stopped.', { name: 'Ann' })],
  ['the system', createMessage('system', 'Stopped.')],
  ['a tool', createMessage('tool', 'Stopped.')],
  ['another agent', assistantMessage('Stopped.', { name: 'Bob' })],
] as const)(
  'an interrupt with a message of %s ends the call with an assistant message',
  async ([who, said]) => {
    const { agent, model } = scriptedAgent(['one two', 'next', 'three four']);
    const stop = agent.addHook({ on: { 'reasoning-chunk': () => void agent.interrupt(said) } });
    const { message: answer } = await agent.call('go');
    stop();
    const name = who === 'another agent' ? 'Bob' : 'a';
    expect(answer).toMatchObject({ role: 'assistant', name, content: said.content });
    await agent.call('again');
    expect(rolesOf(model.requests[1]!.messages)).toBe('user assistant assistant user');
    const twice = agent.addHook({ on: { 'reasoning-chunk': () => void agent.interrupt(said) } });
    const { message: second } = await agent.call('go');
    twice();
    expect((await agent.messages()).at(-1)).toEqual(second);
    expect(second.id).not.toBe(answer.id);
  },
);

test('interrupt() rejects messages with tool calls or tool results', () => {
  const { agent } = scriptedAgent([]);
  const call = { type: 'tool_use', id: 'x', name: 'x', input: {} } as const;
  const result = {
    type: 'tool_result',
    toolUseId: 'x',
    name: 'x',
    output: '',
    state: 'success',
  } as const;
  for (const given of [assistantMessage([call]), toolMessage(result)])
    expect(() => agent.interrupt(given)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringContaining('tool') }),
    );
});

test('an abort aborts the signals of running tools, and queued tool calls never start', async () => {
  const { gate, signals } = gated();
  const controller = new AbortController();
  const noisy = tool({
    name: 'noisy',
    description: 'Aborts once it runs',
    input,
    execute: (_input, { emit }) => new Promise(() => emit('on')),
  });
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ name: 'gated' }, { name: 'noisy' }, { name: 'gated' }] }, 'next'],
    {
      tools: [gate, noisy],
      limits: { parallelTools: 2 },
    },
  );
  const { result } = await read(
    agent.stream('go', { signal: controller.signal }),
    (event) => event.type === 'acting-chunk' && controller.abort(new Error('enough')),
  );
  expect(result).toMatchObject({ reason: 'aborted', text: '' });
  expect(signals).toHaveLength(1);
  expect(signals[0]!.reason).toMatchObject({ code: 'ABORTED', message: 'enough' });
  expect((await agent.messages()).flatMap(toolResultsOf).map(({ state }) => state)).toEqual(
    Array(3).fill('interrupted'),
  );
  expect((await agent.call('again')).text).toBe('next');
  await expectWhole(agent, model);
});

test('after an abort no further tool starts, but each tool call gets a result', async () => {
  const { gate, signals } = gated();
  const controller = new AbortController();
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'gated' }, { name: 'gated' }] }], {
    tools: [gate],
  });
  const { events } = await read(
    agent.stream('go', { signal: controller.signal }),
    (event) => event.type === 'pre-acting' && controller.abort(),
  );
  const acting = events.flatMap((event) =>
    event.type === 'pre-acting' || event.type === 'post-acting'
      ? `${event.type} ${event.toolUse.id}`
      : [],
  );
  expect(acting).toEqual(['pre-acting call_1', 'post-acting call_1', 'post-acting call_2']);
  expect(signals).toEqual([]);
});

test('a tool that throws a fatal error aborts the other tools', async () => {
  const { gate, signals } = gated();
  const fatal = tool({
    name: 'fatal',
    description: 'Ends the call',
    input,
    execute: () => {
      throw new AgentError('TOOL_ERROR', 'on fire');
    },
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'gated' }, { name: 'fatal' }] }], {
    tools: [gate, fatal],
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'TOOL_ERROR', message: 'on fire' });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

test('an interrupt stops reading the model’s reply, and keeps everything from the last read', async () => {
  let reads = 0;
  let closed = false;
  const model: ChatModel = {
    provider: 'chatty',
    modelId: 'chatty',
    features: { tools: true, media: [] },
    async *stream() {
      try {
        for (;;) {
          reads += 1;
          yield ['a', 'b', 'c'].map((delta) => ({ type: 'text', id: 't', delta }) as const);
        }
      } finally {
        closed = true;
      }
    },
  };
  const agent = new ReActAgent({ name: 'a', model });
  const { events } = await read(
    agent.stream('go'),
    (event) => isDelta(event, 'b') && agent.interrupt(),
  );
  expect({ reads, closed }).toEqual({ reads: 1, closed: true });
  expect(
    events.flatMap((event) => (event.type === 'reasoning-chunk' ? event.delta : [])).slice(0, 3),
  ).toEqual(['a', 'b', 'c']);
  expect((await agent.messages()).map(textOf)).toEqual([
    'go',
    'abc',
    'You interrupted me. What now?',
  ]);
});

const cuts = {
  interrupt: (agent: ReActAgent) => void agent.interrupt(),
  pause: (agent: ReActAgent) => void agent.interrupt({ mode: 'pause' }),
  abort: (_agent: ReActAgent, controller: AbortController) => controller.abort(),
};

test.for(Object.keys(cuts) as (keyof typeof cuts)[])(
  '%s does not wait for a model that ignores the signal',
  async (how) => {
    let onAsked!: () => void;
    const asked = new Promise<void>((resolve) => (onAsked = resolve));
    const deaf: ChatModel = {
      provider: 'deaf',
      modelId: 'deaf',
      features: { tools: true, media: [] },
      async *stream() {
        onAsked();
        yield await new Promise<never>(() => {});
      },
    };
    const controller = new AbortController();
    const agent = new ReActAgent({ name: 'a', model: deaf });
    const result = agent.call('go', { signal: controller.signal });
    await asked;
    cuts[how](agent, controller);
    expect((await result).reason).toBe(
      { interrupt: 'interrupted', pause: 'suspended', abort: 'aborted' }[how],
    );
  },
);

test.for(Object.keys(cuts) as (keyof typeof cuts)[])(
  '%s ends the wait for slow work before the first request and keeps the input',
  async (how) => {
    let onSettled!: (signal: AbortSignal) => void;
    const settling = new Promise<AbortSignal>((resolve) => (onSettled = resolve));
    const { agent, model } = scriptedAgent(['hello'], {
      use: [
        {
          wrapSettle: async (given, next, run) => {
            const first = await next(given);
            const { stopSignal: signal } = run;
            onSettled(signal);
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
            return first;
          },
        },
      ],
    });
    const controller = new AbortController();
    const result = agent.call('go', { signal: controller.signal });
    const signal = await settling;
    cuts[how](agent, controller);
    expect(signal.aborted).toBe(true);
    expect((await result).reason).toBe(
      { interrupt: 'interrupted', pause: 'suspended', abort: 'aborted' }[how],
    );
    expect(model.requests).toEqual([]);
    expect(textOf((await agent.messages())[0]!)).toBe('go');
  },
);

test('a call that was paused before its first model request continues with the next call', async () => {
  const { agent, model } = scriptedAgent(['one'], {
    use: [
      {
        on: {
          'pre-call': (event) =>
            void (event.input.length && agentOf().interrupt({ mode: 'pause' })),
        },
      },
    ],
  });
  const agentOf = (): ReActAgent => agent;
  const first = await read(agent.stream('go'));
  expect(first.result).toMatchObject({ reason: 'suspended', text: '', pending: [] });
  expect(model.requests).toEqual([]);
  const second = await read(agent.stream());
  expect(second.events[0]).toMatchObject({ type: 'run-start', resumes: first.events[0]!.runId });
  expect(second.events.map(({ type }) => type)).not.toContain('step-reset');
  expect((await agent.messages()).map(textOf)).toEqual(['go', 'one']);
});

test('after a pause, the next call removes the partial reply, emits a step-reset, and requests the reply again', async () => {
  const { agent, model } = scriptedAgent(['one two three', 'un deux trois']);
  const first = await read(
    agent.stream('count'),
    (event) => isDelta(event, 'two ') && agent.interrupt({ mode: 'pause' }),
  );
  expect(first.result).toMatchObject({
    reason: 'suspended',
    text: 'one two ',
    message: { metadata: { partial: 'suspended' } },
  });
  expect((await agent.messages()).map(textOf)).toEqual(['count', 'one two ']);
  const { events, result } = await read(agent.stream());
  expect(events.map(({ type }) => type).slice(0, 4)).toEqual([
    'run-start',
    'pre-call',
    'step-reset',
    'pre-reasoning',
  ]);
  expect(result).toMatchObject({ reason: 'stop', text: 'un deux trois' });
  expect(model.requests[1]!.messages.map(textOf)).toEqual(['count']);
  expect((await agent.messages()).map(textOf)).toEqual(['count', 'un deux trois']);
});

test('if a call with new input follows a pause, the partial reply is kept', async () => {
  const { agent, model } = scriptedAgent(['one two three', 'four']);
  await read(
    agent.stream('count'),
    (event) => isDelta(event, 'two ') && agent.interrupt({ mode: 'pause' }),
  );
  expect((await agent.call('and then?')).text).toBe('four');
  expect(model.requests[1]!.messages.map(textOf)).toEqual(['count', 'one two ', 'and then?']);
});

test('a pause while tools run keeps their results, and the next call continues with these results', async () => {
  const { gate, open, signals } = gated();
  const { agent, model } = scriptedAgent([{ toolCalls: [{ name: 'gated' }] }, 'done'], {
    tools: [gate],
  });
  const { result } = await read(
    agent.stream('go'),
    (event) => event.type === 'pre-acting' && agent.interrupt({ mode: 'pause' }) && open(),
  );
  expect(result).toMatchObject({ reason: 'suspended', pending: [] });
  expect((await agent.call()).text).toBe('done');
  expect(signals).toHaveLength(1);
  await expectWhole(agent, model);
});

test('a pause leaves pending tool calls open, and an interrupt closes them', async () => {
  const external = tool({ name: 'external', description: 'Runs elsewhere', input });
  for (const how of ['pause', 'interrupt'] as const) {
    const { agent, model } = scriptedAgent([{ toolCalls: [{ name: 'external' }] }, 'done'], {
      tools: [external],
    });
    const { result } = await read(
      agent.stream('go'),
      (event) =>
        event.type === 'pre-acting' && agent.interrupt(how === 'pause' ? { mode: 'pause' } : {}),
    );
    if (how === 'pause') {
      expect(result).toMatchObject({
        reason: 'suspended',
        pending: [{ toolUseId: 'call_1', kind: 'external' }],
      });
      expect(
        (await agent.call([{ type: 'result', toolUseId: 'call_1', output: 'here' }])).text,
      ).toBe('done');
    } else {
      expect(result).toMatchObject({ reason: 'interrupted', pending: [] });
      expect((await agent.call('again')).text).toBe('done');
    }
    await expectWhole(agent, model);
  }
});

test('messages that are injected while a reply streams are answered after the reply', async () => {
  const { agent, model } = scriptedAgent(['one two', 'three']);
  const { events, result } = await read(
    agent.stream('go'),
    (event) =>
      isDelta(event, 'one ') &&
      agent.interrupt({
        mode: 'inject',
        messages: ['and', 'more'].map((text) => userMessage(text)),
      }),
  );
  expect(result).toMatchObject({ reason: 'stop', text: 'three', iterations: 2 });
  expect(model.requests[1]!.messages.map(textOf)).toEqual(['go', 'one two', 'and', 'more']);
  expect(events.filter(({ type }) => type === 'post-call')).toHaveLength(1);
});

test('messages that are injected while tools run are placed after the tool results', async () => {
  const { gate, open } = gated();
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ name: 'gated' }, { name: 'gated' }] }, 'done'],
    {
      tools: [gate],
    },
  );
  await read(agent.stream('go'), (event) => {
    if (event.type === 'pre-acting' && event.toolUse.id === 'call_2') open();
    if (event.type === 'post-acting' && event.toolUse.id === 'call_1')
      agent.interrupt({ mode: 'inject', messages: 'also' });
  });
  expect(rolesOf(model.requests[1]!.messages)).toBe('user assistant tool tool user');
  await expectWhole(agent, model);
});

test('at the limit of iterations, the summary answers injected messages; later messages are only stored', async () => {
  const { agent, model } = scriptedAgent(['one', 'in short', 'three'], {
    limits: { iterations: 1 },
  });
  const { result } = await read(agent.stream('go'), (event) => {
    if (event.type === 'post-reasoning') agent.interrupt({ mode: 'inject', messages: 'also' });
    if (event.type === 'summary-chunk' && event.delta === 'in ')
      agent.interrupt({ mode: 'inject', messages: 'late' });
  });
  expect(result).toMatchObject({ reason: 'max-iterations', text: 'in short', iterations: 1 });
  expect(model.requests[1]!.messages.map(textOf).slice(0, 3)).toEqual(['go', 'one', 'also']);
  expect((await agent.messages()).map(textOf)).toEqual(['go', 'one', 'also', 'in short', 'late']);
  expect((await agent.call()).text).toBe('three');
});

test.for(['interrupt', 'pause', 'abort', 'error'] as const)(
  'a message that was injected before an %s is stored',
  async (how) => {
    const controller = new AbortController();
    const { agent, model } = scriptedAgent([
      { text: 'one two', error: new AgentError('MODEL_SERVER', 'down') },
      'next',
    ]);
    const stream = agent.stream('go', { signal: controller.signal, throwOnError: false });
    await read(stream, (event) => {
      if (!isDelta(event, 'one ')) return;
      agent.interrupt({ mode: 'inject', messages: 'also' });
      if (how !== 'error') cuts[how](agent, controller);
    });
    expect((await agent.messages()).map(textOf).filter((text) => text === 'also')).toHaveLength(1);
    expect((await agent.call('go on')).text).toBe('next');
    expect(model.requests[1]!.messages.map(textOf)).toContain('also');
  },
);

test("with `whenBusy: 'inject'`, a call to a busy agent is injected, and both calls get the same result", async () => {
  const { gate, open } = gated();
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ name: 'gated' }] }, 'for both', 'alone'],
    {
      tools: [gate],
      whenBusy: 'inject',
    },
  );
  let second: Promise<AgentResult> | undefined;
  let late: Promise<AgentResult> | undefined;
  const { result } = await read(agent.stream('go'), (event) => {
    if (event.type === 'pre-acting') second = agent.call('also');
    if (event.type === 'pre-acting') open();
    // It is too late to inject this call, so the call is queued.
    if (event.type === 'run-end') late = agent.call('afterwards');
  });
  expect(await second).toBe(result);
  expect(model.requests[1]!.messages.map(textOf).at(-1)).toBe('also');
  expect((await late)?.text).toBe('alone');
});

test('queued calls run one after the other; an aborted call stores nothing and does not change the order', async () => {
  const { gate, open } = gated();
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ name: 'gated' }] }, 'one', 'three', 'four'],
    {
      tools: [gate],
      whenBusy: 'queue',
    },
  );
  const first = agent.stream('first', { detached: true });
  const controller = new AbortController();
  const second = agent.stream('second', { detached: true, signal: controller.signal });
  controller.abort();
  const { events, result } = await read(second);
  expect(result).toMatchObject({ reason: 'aborted', text: '' });
  expect(events.map(({ type }) => type)).toEqual(['run-start', 'run-end']);
  expect(agent.busy).toBe(true);
  const third = agent.call('third');
  const fourth = agent.call('fourth');
  open();
  expect([(await first.result).text, (await third).text, (await fourth).text]).toEqual([
    'one',
    'three',
    'four',
  ]);
  expect(agent.busy).toBe(false);
  expect((await agent.messages()).filter(({ role }) => role !== 'tool').map(textOf)).toEqual([
    'first',
    '',
    'one',
    'third',
    'three',
    'fourth',
    'four',
  ]);
  await expectWhole(agent, model);
});

test('an abort before the start makes no model request, and keeps the given results', async () => {
  const external = tool({ name: 'external', description: 'Runs elsewhere', input });
  const { agent, model } = scriptedAgent([{ toolCalls: [{ name: 'external' }] }, 'done'], {
    tools: [external],
  });
  expect((await agent.call('go')).reason).toBe('suspended');
  const signal = AbortSignal.abort();
  expect(
    (await agent.call([{ type: 'result', toolUseId: 'call_1', output: 'here' }], { signal }))
      .reason,
  ).toBe('aborted');
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { output: 'here', state: 'success' },
  ]);
  expect(model.requests).toHaveLength(1);
  expect((await agent.call()).text).toBe('done');
  await expectWhole(agent, model);
});

test('a call that a busy agent rejects removes its listener from the caller’s signal', async () => {
  const { signal, listeners } = countedSignal();
  const { agent } = scriptedAgent(['one']);
  const first = agent.call('go');
  await expect(agent.call('me too', { signal })).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  await first;
  expect(listeners()).toBe(0);
});

test('injected messages never make a request invalid: unmatched results are omitted, and open tool calls are closed', async () => {
  const { agent, model } = scriptedAgent(['one two', 'three', 'four']);
  const stray = toolMessage({
    type: 'tool_result',
    toolUseId: 'none',
    name: 'x',
    output: 'stray',
    state: 'success',
  });
  const asks = assistantMessage([{ type: 'tool_use', id: 'asked', name: 'x', input: {} }]);
  await read(
    agent.stream('go'),
    (event) =>
      isDelta(event, 'one ') && agent.interrupt({ mode: 'inject', messages: [stray, asks] }),
  );
  expect(model.requests[1]!.messages.flatMap(toolResultsOf)).toMatchObject([
    { toolUseId: 'asked', state: 'interrupted' },
  ]);
  expect((await agent.call('again')).text).toBe('four');
  expect(model.requests.flatMap(({ messages }) => requestFaults(messages))).toEqual([]);
});

const forever = new Promise<never>(() => {});

/** Aborts the agent call of `controller` while the caller hangs. */
async function abortedIn(controller: AbortController): Promise<never> {
  controller.abort();
  return forever;
}

/** Runs a call that a part aborts while a wrapper hangs. Returns the texts of the log. */
async function logAfter(
  replies: readonly ScriptedReply[],
  partsFor: (controller: AbortController) => readonly Middleware[],
): Promise<readonly string[]> {
  const controller = new AbortController();
  const { agent } = scriptedAgent(replies, { use: partsFor(controller) });
  const { reason } = await agent.call('go', { signal: controller.signal });
  expect(reason).toBe('aborted');
  return (await agent.messages()).map(textOf);
}

test('an abort stores the reply that readers have, not the reply to a hidden extra request', async () => {
  const texts = await logAfter(['the answer', 'hidden verdict'], (controller) => [
    {
      wrapReply: async (reply, _next, run) => {
        await run.model.ask(reply.request!, () => undefined);
        return abortedIn(controller);
      },
    },
  ]);
  expect(texts).toEqual(['go', 'the answer']);
});

test('an abort during a hidden extra request stores nothing of its reply', async () => {
  const controller = new AbortController();
  const hidden = [{ text: 'hidden ' }, { wait: forever }, { text: 'verdict' }];
  const { agent } = scriptedAgent(['the answer', hidden], {
    use: [
      {
        wrapReply: async (reply, _next, run) => {
          const made = await run.model.ask(reply.request!, () => {
            controller.abort();
            return undefined;
          });
          return run.ending.whenStopped(made.message);
        },
      },
    ],
  });
  await agent.call('go', { signal: controller.signal });
  expect((await agent.messages()).map(textOf)).not.toContain('hidden ');
});

test('an abort stores a reply as the hooks left it', async () => {
  const redact: Middleware = {
    on: {
      'post-reasoning': ({ message: given, ...event }) => ({
        ...event,
        message: { ...given, content: [{ type: 'text', text: 'redacted' }] },
      }),
    },
  };
  const hang = (controller: AbortController): Middleware => ({
    wrapReply: async (reply, next) => {
      await next(reply);
      return abortedIn(controller);
    },
  });
  const texts = await logAfter(['my secret'], (controller) => [hang(controller), redact]);
  expect(texts).toEqual(['go', 'redacted']);
});

test('an abort does not store a reply that a wrapper took back', async () => {
  const texts = await logAfter(['bad reply', 'good'], (controller) => [
    {
      wrapRequest: async (draft, next, { iteration }) =>
        iteration === 0 ? next(draft) : abortedIn(controller),
      wrapReply: async (_reply, _next, run) => {
        await run.events.emit('step-reset', { reason: 'dropped' });
        return { to: 'model' };
      },
    },
  ]);
  expect(texts).toEqual(['go']);
});
