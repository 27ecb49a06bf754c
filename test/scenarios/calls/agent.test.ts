import * as z from 'zod';
import {
  AgentError,
  assistantMessage,
  InMemoryMemory,
  MemoryStore,
  errorText,
  ReActAgent,
  SessionMemory,
  systemMessage,
  textOf,
  tool,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  type AgentHook,
  type AgentResult,
  type Memory,
  type Msg,
  type Tool,
  type UseList,
} from '@isoloop/core';
import { attach } from '@isoloop/core/event';
import { Agent, type KernelOptions } from '@isoloop/core/agent';
import { approvals } from '@isoloop/core/approval';
import { directAnswers, answerAtLimit } from '@isoloop/core/answer';
import { runLimits } from '@isoloop/core/limits';
import { steering } from '@isoloop/core/steering';
import { structured } from '@isoloop/core/output';
import { arcReactor } from '@isoloop/presets';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { expect, test, vi } from 'vitest';
import { historyFaults } from '../../support/history-faults.ts';
import { orderFaults } from '../../support/order-faults.ts';
import { eventsOf } from '../../support/scripted-agent.ts';
import { plainMemory } from '../../support/plain-memory.ts';

const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

const two = { name: 'add', input: { a: 1, b: 1 } };

function calls(...names: readonly string[]): ScriptedReply {
  return { toolCalls: names.map((name) => ({ name })) };
}

function make(name: string, more: object = { execute: () => name }): Tool {
  return tool({ name, description: '', input: {}, ...more });
}

function setUp(replies: readonly ScriptedReply[], options: Partial<KernelOptions> = {}) {
  const model = new ScriptedModel(replies);
  return { model, agent: new Agent({ name: 'a', model, tools: [add], ...options }) };
}

function outputs(messages: readonly Msg[]): readonly string[] {
  return messages
    .flatMap(toolResultsOf)
    .map(({ name, output, state }) => `${name} ${state}: ${String(output)}`);
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Resolves when `arrive` was called this many times. */
function barrier(count: number) {
  let left = count;
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const arrive = (): Promise<void> => {
    left -= 1;
    if (left === 0) open();
    return opened;
  };
  return { arrive, opened };
}

test('a call runs tools until the model answers, and its result says what happened', async () => {
  const { agent, model } = setUp([{ text: 'I add.', toolCalls: [two] }, 'It is 2.'], {
    systemPrompt: 'Be brief.',
    now: () => 5,
    monotonicNow: () => 5,
  });
  const result = await agent.call('What is 1 + 1?');
  expect(result).toEqual({
    text: 'It is 2.',
    reason: 'stop',
    message: expect.objectContaining({ role: 'assistant', name: 'a' }),
    usage: { inputTokens: 20, outputTokens: 10 },
    toolsUsed: ['add'],
    iterations: 2,
    durationMs: 0,
    pending: [],
    sessionVersion: 0,
  });
  const messages = await agent.messages();
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(messages.at(-1)).toEqual(result.message);
  expect(outputs(messages)).toEqual(['add success: 2']);
  expect(model.requests[1]!.messages.map(textOf)).toEqual([
    'Be brief.',
    'What is 1 + 1?',
    'I add.',
    '',
  ]);
});

test('a stream has the events of the run in order, and its result', async () => {
  const { agent } = setUp([{ text: 'I add.', toolCalls: [two] }, 'It is 2.']);
  const stream = agent.stream('What is 1 + 1?');
  const events = await eventsOf(stream);
  expect(orderFaults(events)).toEqual([]);
  const types = events
    .map(({ type }) => type)
    .filter((type, index, all) => type !== all[index - 1]);
  expect(types).toEqual([
    'run-start',
    'pre-call',
    'pre-reasoning',
    'reasoning-chunk',
    'tool-input-chunk',
    'post-reasoning',
    'pre-acting',
    'post-acting',
    'pre-reasoning',
    'reasoning-chunk',
    'post-reasoning',
    'post-call',
    'run-end',
  ]);
  expect((await stream.result).text).toBe('It is 2.');
});

test('observe() adds messages without a model request, and refuses tool calls without results', async () => {
  const { agent, model } = setUp(['Tea.']);
  await agent.observe([assistantMessage('Ann likes tea.', { name: 'other', id: 'm' })]);
  expect(model.requests).toEqual([]);
  await agent.call('What does she like?');
  expect(model.requests[0]!.messages.map(textOf)).toEqual([
    'Ann likes tea.',
    'What does she like?',
  ]);
  const open = assistantMessage([{ type: 'tool_use', id: 'c', name: 'add', input: {} }]);
  await expect(agent.observe(open)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  const again = userMessage('Hm.', { id: 'm' });
  await expect(agent.observe(again)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test.each<[what: string, on: NonNullable<AgentHook['on']>, expected: object, requests: number]>([
  [
    'reject a call at run-start',
    { 'run-start': ({ reject }) => reject('Not now.') },
    { reason: 'rejected', text: 'Not now.', error: { code: 'HOOK_REJECTED' } },
    0,
  ],
  [
    'reject a call at pre-call',
    { 'pre-call': ({ reject }) => reject('Not that.') },
    { reason: 'rejected', text: 'Not that.', error: { code: 'HOOK_REJECTED' } },
    0,
  ],
  [
    'end a call with an answer at pre-call',
    { 'pre-call': ({ jumpTo }) => jumpTo('end', 'Ask me later.') },
    { reason: 'stopped-by-hook', stoppedAt: 'pre-call', text: 'Ask me later.' },
    0,
  ],
  [
    'stop a call at pre-reasoning',
    { 'pre-reasoning': ({ stop }) => stop() },
    { reason: 'stopped-by-hook', stoppedAt: 'pre-reasoning', text: '' },
    0,
  ],
  [
    'change a request',
    {
      'pre-reasoning': (event) => ({
        ...event,
        messages: [...event.messages, systemMessage('Hurry.')],
      }),
    },
    { reason: 'stop', text: 'It is 2.' },
    2,
  ],
  [
    'ask the model again at post-reasoning',
    {
      'post-reasoning': ({ iteration, gotoReasoning }) => {
        if (iteration === 2) gotoReasoning([userMessage('Are you sure?')]);
      },
    },
    { reason: 'stop', text: 'Yes.' },
    3,
  ],
  [
    'stop before a tool runs',
    { 'pre-acting': ({ stop }) => stop() },
    { reason: 'stopped-by-hook', stoppedAt: 'pre-acting', toolsUsed: [] },
    1,
  ],
  [
    'deny a tool call',
    { 'pre-acting': ({ reject }) => reject('Too large.') },
    { reason: 'stop', text: 'It is 2.', toolsUsed: [] },
    2,
  ],
  [
    'stop after a tool',
    { 'post-acting': ({ stop }) => stop() },
    { reason: 'stopped-by-hook', stoppedAt: 'post-acting', text: 'I add.' },
    1,
  ],
  [
    'end a call with an answer after a tool',
    { 'post-acting': ({ result, jumpTo }) => jumpTo('end', `So: ${String(result.output)}`) },
    { reason: 'stopped-by-hook', stoppedAt: 'post-acting', text: 'So: 2' },
    1,
  ],
  [
    'change the answer',
    {
      'post-call': (event) => ({
        ...event,
        message: { ...event.message, content: [{ type: 'text', text: 'Two.' }] },
      }),
    },
    { reason: 'stop', text: 'Two.' },
    2,
  ],
])('a hook can %s', async (_what, on, expected, requests) => {
  const { agent, model } = setUp([{ text: 'I add.', toolCalls: [two] }, 'It is 2.', 'Yes.'], {
    use: [{ on }],
  });
  const stream = agent.stream('What is 1 + 1?');
  const events = await eventsOf(stream);
  const result = await stream.result;
  if (result.reason !== 'rejected') expect(orderFaults(events)).toEqual([]);
  expect(result).toMatchObject(expected);
  expect(model.requests).toHaveLength(requests);
});

test('a hook that is added during a run gets the later events, until it is removed', async () => {
  const seen: string[] = [];
  const { agent } = setUp([{ toolCalls: [two] }, 'It is 2.', 'Bye.']);
  let remove: (() => void) | undefined;
  for await (const { type } of agent.stream('Hi')) {
    if (type === 'pre-acting')
      remove = agent.addHook({ on: { '*': (event) => void seen.push(event.type) } });
  }
  remove!();
  await agent.call('Bye');
  expect(seen.slice(0, 2)).toEqual(['post-acting', 'pre-reasoning']);
  expect(seen.at(-1)).toBe('run-end');
  expect(seen.filter((type) => type === 'run-end')).toHaveLength(1);
});

test('interrupt() ends a call with the recovery message, and with the words that it got', async () => {
  const { agent } = setUp([{ text: 'One two three' }, { text: 'One two three' }, 'Fine.'], {
    recoveryMessage: 'I stop.',
  });
  const endAtWord = async (words?: string): Promise<AgentResult> => {
    const stream = agent.stream('Count');
    for await (const event of stream) {
      if (event.type === 'reasoning-chunk' && event.delta.startsWith('two')) agent.interrupt(words);
    }
    return stream.result;
  };
  expect(await endAtWord()).toMatchObject({ reason: 'interrupted', text: 'I stop.' });
  expect(await endAtWord('Enough.')).toMatchObject({ reason: 'interrupted', text: 'Enough.' });
  expect((await agent.messages()).map((message) => [textOf(message), message.metadata])).toEqual([
    ['Count', expect.anything()],
    ['One two ', { partial: 'interrupted' }],
    ['I stop.', { reason: 'interrupted' }],
    ['Count', expect.anything()],
    ['One two ', { partial: 'interrupted' }],
    ['Enough.', { reason: 'interrupted' }],
  ]);
  expect([agent.interrupt(), agent.interrupt('Too late.')]).toEqual([false, false]);
  expect((await agent.call('Well?')).text).toBe('Fine.');
});

test('after an interrupt, running tools end and the model is not asked again', async () => {
  const begun = barrier(1);
  let release!: (output: string) => void;
  const released = new Promise<string>((resolve) => (release = resolve));
  const slow = make('slow', { execute: () => (void begun.arrive(), released) });
  const { agent, model } = setUp([calls('slow'), 'Fine.'], { tools: [slow] });
  const ended = agent.call('Go');
  await begun.opened;
  expect(agent.interrupt()).toBe(true);
  release('done');
  expect(await ended).toMatchObject({ reason: 'interrupted', toolsUsed: ['slow'] });
  expect(outputs(await agent.messages())).toEqual(['slow success: done']);
  expect(model.requests).toHaveLength(1);
});

test('an abort ends a call at once, during a reply and during a tool', async () => {
  const begun = barrier(1);
  let toolSignal: AbortSignal | undefined;
  const hanging = make('hanging', {
    execute(_input: unknown, { signal }: { signal: AbortSignal }) {
      toolSignal = signal;
      void begun.arrive();
      return new Promise(() => {});
    },
  });
  const { agent } = setUp([{ text: 'Half ', hang: true }, calls('hanging'), 'Fine.'], {
    tools: [hanging],
  });
  const during = new AbortController();
  const stream = agent.stream('Talk', { signal: during.signal });
  for await (const { type } of stream) if (type === 'reasoning-chunk') during.abort();
  expect(await stream.result).toMatchObject({ reason: 'aborted', text: 'Half ' });
  const later = new AbortController();
  const ended = agent.call('Run it', { signal: later.signal });
  await begun.opened;
  later.abort();
  expect(await ended).toMatchObject({ reason: 'aborted', pending: [] });
  expect(toolSignal?.aborted).toBe(true);
  const messages = await agent.messages();
  expect(messages.flatMap(toolResultsOf)).toMatchObject([{ state: 'interrupted' }]);
  expect(historyFaults(messages)).toEqual([]);
  const before = AbortSignal.abort();
  expect(await agent.call('And now?', { signal: before })).toMatchObject({ reason: 'aborted' });
  // The message is stored, so a call without input continues.
  expect((await agent.call()).text).toBe('Fine.');
});

test('time limits end a call and a tool that hang', async () => {
  const slow = make('slow', { timeoutMs: 1, execute: () => new Promise(() => {}) });
  const tools = setUp([calls('slow'), 'Too slow.'], { tools: [slow] });
  expect((await tools.agent.call('Go')).text).toBe('Too slow.');
  expect(outputs(await tools.agent.messages())).toEqual([
    'slow error: Error: Tool "slow" timed out after 1 ms',
  ]);
  const { agent } = setUp([{ hang: true }, 'Fine.'], { limits: { timeoutMs: 5 } });
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'CALL_TIMEOUT', retryable: true });
  expect((await agent.call('Again')).text).toBe('Fine.');
});

test('tool calls of a reply run at the same time, wrong ones get errors, and results keep their order', async () => {
  const both = barrier(2);
  const meet = (name: string): Tool =>
    make(name, { execute: async () => (await both.arrive(), name) });
  const wrong = { name: 'add', input: { a: 'one' } };
  const reply = { toolCalls: [{ name: 'x' }, wrong, { name: 'none' }, { name: 'y' }] };
  const { agent } = setUp([reply, 'Done.'], { tools: [add, meet('x'), meet('y')] });
  expect(await agent.call('Go')).toMatchObject({ text: 'Done.', toolsUsed: ['x', 'y'] });
  expect(outputs(await agent.messages())).toEqual([
    'x success: x',
    expect.stringContaining('add error: Error: The arguments of "add" do not fit its schema:'),
    'none error: Error: Tool not found: none. Available: add, x, y.',
    'y success: y',
  ]);
});

test('a tool can suspend its call, which then waits with its reason and details', async () => {
  const ask = make('ask', {
    execute(_input: unknown, context: { suspend(reason: string, details: object): never }) {
      context.suspend('Ann has to sign.', { form: 7 });
    },
  });
  const { agent, model } = setUp([{ toolCalls: [two, { name: 'ask', id: 'c' }] }], {
    tools: [add, ask],
  });
  const waiting = {
    toolUseId: 'c',
    name: 'ask',
    input: {},
    kind: 'suspended',
    reason: 'Ann has to sign.',
    details: { form: 7 },
  };
  const first = await agent.call('Go');
  expect(first).toMatchObject({ reason: 'suspended', pending: [waiting] });
  expect(outputs(await agent.messages())).toEqual(['add success: 2']);
  // Nobody has decided, so the tool does not run again.
  expect(await agent.call()).toMatchObject({ reason: 'suspended', pending: [waiting] });
  await expect(agent.call('Well?')).rejects.toMatchObject({
    code: 'PENDING_TOOL_CALLS',
    details: { ids: ['c'] },
  });
  expect(model.requests).toHaveLength(1);
});

test('a second call is refused, or waits for its turn with `whenBusy`', async () => {
  const gate = barrier(1);
  const slow = { text: 'One.', wait: gate.opened };
  const busy = setUp([slow]);
  const running = busy.agent.call('First');
  await expect(busy.agent.call('Second')).rejects.toMatchObject({
    code: 'AGENT_BUSY',
    message: 'The agent "a" is busy. Await its call, or set whenBusy.',
  });
  const refused = await busy.agent.call('Third', { throwOnError: false });
  expect(refused).toMatchObject({ reason: 'error', error: { code: 'AGENT_BUSY' } });
  expect(busy.agent.busy).toBe(true);
  const queue = setUp([slow, 'Two.', 'Three.'], { whenBusy: 'queue' });
  const all = ['First', 'Second', 'Third'].map((text) => queue.agent.call(text));
  void gate.arrive();
  expect((await running).text).toBe('One.');
  expect((await Promise.all(all)).map(({ text }) => text)).toEqual(['One.', 'Two.', 'Three.']);
  expect((await queue.agent.messages()).map(textOf)).toEqual([
    'First',
    'One.',
    'Second',
    'Two.',
    'Third',
    'Three.',
  ]);
  expect([busy.agent.busy, queue.agent.busy]).toEqual([false, false]);
});

test('readers join a detached run late, from the start or from an event', async () => {
  const { agent } = setUp([{ toolCalls: [two] }, 'It is 2.']);
  const { result } = agent.stream('What is 1 + 1?', { detached: true });
  await result;
  const all = await eventsOf(attach(agent)!);
  expect(orderFaults(all)).toEqual([]);
  const middle = all[4]!.seq;
  const rest = await eventsOf(attach(agent, { afterSeq: middle })!);
  expect(rest).toEqual(all.filter(({ seq }) => seq > middle));
  expect(await attach(agent)!.result).toBe(await result);
});

test('at the limit of iterations, a call ends without an answer', async () => {
  const { agent, model } = setUp([{ text: 'I add.', toolCalls: [two] }, 'It is 2.'], {
    limits: { iterations: 1 },
  });
  const stream = agent.stream('Go');
  const events = await eventsOf(stream);
  expect(orderFaults(events)).toEqual([]);
  expect(await stream.result).toMatchObject({
    reason: 'max-iterations',
    text: '',
    iterations: 1,
    toolsUsed: ['add'],
  });
  expect(model.requests).toHaveLength(1);
  expect((await agent.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect((await agent.call('Well?')).text).toBe('It is 2.');
});

test('`parallelTools` limits the tools that run at the same time', async () => {
  let running = 0;
  let most = 0;
  const work = make('work', {
    async execute() {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
    },
  });
  const replies = [calls('work', 'work', 'work'), 'Done.'];
  const { agent } = setUp(replies, { tools: [work], limits: { parallelTools: 2 } });
  await agent.call('Go');
  expect(most).toBe(2);
});

test('`replyLength`, `replyCalls` and `resultLength` bound what a model and a tool may say', async () => {
  const long = setUp(['word '.repeat(9)], { limits: { replyLength: 20 } });
  await expect(long.agent.call('Go')).rejects.toMatchObject({ code: 'MODEL_REPLY_TOO_LONG' });

  const many = setUp([{ toolCalls: [two, two, two] }, 'Done.'], { limits: { replyCalls: 2 } });
  await many.agent.call('Go');
  expect(outputs(await many.agent.messages())).toEqual([
    'add success: 2',
    'add success: 2',
    'add error: Error: A reply may have 2 tool calls. Make this call again later.',
  ]);

  const read = make('read', { execute: () => 'x'.repeat(500) });
  const { agent, model } = setUp([calls('read'), 'Done.'], {
    tools: [read],
    limits: { resultLength: 100 },
  });
  await agent.call('Go');
  const [shown] = model.requests[1]!.messages.flatMap(toolResultsOf);
  expect(String(shown!.output).length).toBeLessThan(200);
  expect(outputs(await agent.messages())).toEqual([`read success: ${'x'.repeat(500)}`]);
});

test('the usage sums all model requests of a call, and what middleware adds', async () => {
  const usage = { inputTokens: 7, outputTokens: 3, cachedInputTokens: 2 };
  const { agent } = setUp([{ toolCalls: [two], usage }, { text: 'It is 2.', usage }, 'Bye.'], {
    use: [
      {
        wrapTool: (call, next, run) => {
          run.model.addUsage({ inputTokens: 100, outputTokens: 1 });
          return next(call);
        },
      },
    ],
  });
  expect((await agent.call('Hi')).usage).toEqual({
    inputTokens: 114,
    outputTokens: 7,
    cachedInputTokens: 4,
  });
  expect((await agent.call('Bye')).usage).toEqual({ inputTokens: 10, outputTokens: 5 });
});

test('a failure rejects with a typed error, or resolves with it', async () => {
  const down = new AgentError('MODEL_SERVER', 'down', { retryable: true });
  const { agent } = setUp([{ error: down }, { text: 'Half', error: down }, 'Fine.']);
  await expect(agent.call('Go')).rejects.toBe(down);
  const result = await agent.call('Go', { throwOnError: false });
  expect(result).toMatchObject({
    reason: 'error',
    error: { code: 'MODEL_SERVER', message: 'down', retryable: true },
  });
  await expect(agent.call('  ')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  const invalid = await agent.call('  ', { throwOnError: false });
  expect(invalid).toMatchObject({ reason: 'error', error: { code: 'INVALID_INPUT' } });
  expect((await agent.call('Go')).text).toBe('Fine.');
});

test.each<[what: string, memory: () => Memory]>([
  ['a memory with only the required methods', plainMemory],
  ['InMemoryMemory', () => new InMemoryMemory()],
  ['SessionMemory', () => new SessionMemory(new MemoryStore(), 's')],
])('another agent continues the conversation of %s', async (_what, makeMemory) => {
  const memory = makeMemory();
  const first = setUp([{ toolCalls: [two] }, 'It is 2.'], { memory });
  await first.agent.call('What is 1 + 1?');
  const second = setUp(['I said 2.'], { memory });
  await second.agent.call('What did you say?');
  expect(second.model.requests[0]!.messages.map(textOf)).toEqual([
    'What is 1 + 1?',
    '',
    '',
    'It is 2.',
    'What did you say?',
  ]);
  expect(await second.agent.messages()).toEqual(await first.agent.messages());
});

const refusals: readonly (readonly [what: string, tool: Tool, part: string])[] = [
  ['that needs approval', make('pay', { needsApproval: true, execute: () => 'paid' }), 'approvals'],
  [
    'that may need approval',
    make('pay', { needsApproval: () => false, execute: () => 'paid' }),
    'approvals',
  ],
  ['without `execute`', make('pay', {}), 'approvals'],
  [
    'that somebody has to decide about after a crash',
    make('pay', { replay: 'ask', execute: () => 'paid' }),
    'approvals',
  ],
  [
    'whose result is the answer',
    make('pay', { returnDirect: true, execute: () => 'paid' }),
    'directAnswers',
  ],
  ['that names a middleware', { ...make('pay'), requires: ['steering'] }, 'steering'],
];

test.each(refusals)('without its middleware, an agent refuses a tool %s', (_what, pay, name) => {
  const entries: Readonly<Record<string, string>> = {
    approvals: 'approval',
    directAnswers: 'answer',
    steering: 'steering',
  };
  const message = `The tool "pay" needs the middleware "${name}". Add it: import { ${name} } from '@isoloop/core/${entries[name]}'; use: [${name}()].`;
  const refused = { code: 'CONFIGURATION', message, details: { middleware: name } };
  expect(() => setUp([], { tools: [pay] })).toThrow(expect.objectContaining(refused));
  expect(() => setUp([], { use: [{ tools: [pay] }] })).toThrow(expect.objectContaining(refused));
});

test.each(refusals)(
  'a tool %s that appears later gets an error and does not run',
  async (_what, pay, name) => {
    const execute = vi.fn(() => 'paid');
    const late = pay.execute ? { ...pay, execute } : pay;
    const { agent } = setUp([calls('pay'), 'I cannot pay.'], {
      use: [{ on: { 'pre-call': (_event, run) => run.tools.add([late]) } }],
    });
    expect(await agent.call('Pay')).toMatchObject({ reason: 'stop', text: 'I cannot pay.' });
    const [output] = outputs(await agent.messages());
    expect(output).toContain(`Error: The tool "pay" needs the middleware "${name}".`);
    expect(execute).not.toHaveBeenCalled();
  },
);

test('an agent without a standard middleware refuses what needs it', async () => {
  const without = (name: string, tools: readonly Tool[] = []): ReActAgent =>
    new ReActAgent({ name: 'a', model: new ScriptedModel(['Hi.']), tools, use: [{ name }] });
  for (const [, pay, name] of refusals)
    expect(() => without(name, [pay])).toThrow(`The tool "pay" needs the middleware "${name}".`);
  await expect(
    without('approvals').call([{ toolUseId: 'c', type: 'approve' }]),
  ).rejects.toMatchObject({ code: 'CONFIGURATION', details: { middleware: 'approvals' } });
  const agent = without('steering');
  const errors: unknown[] = [];
  for await (const { type } of agent.stream('Hi')) {
    if (type === 'pre-reasoning') errors.push(thrownBy(() => agent.interrupt({ mode: 'pause' })));
  }
  expect(errors).toMatchObject([{ code: 'CONFIGURATION', details: { middleware: 'steering' } }]);
});

test('without approvals(), an agent refuses decisions', async () => {
  const { agent } = setUp([]);
  const decision = { toolUseId: 'c', type: 'approve' } as const;
  await expect(agent.call([decision])).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message:
      'A decision needs the middleware "approvals". Add it: ' +
      "import { approvals } from '@isoloop/core/approval'; use: [approvals()].",
  });
  expect(await agent.messages()).toEqual([]);
});

test.each([{ mode: 'pause' } as const, { mode: 'inject', messages: 'Hurry.' } as const])(
  'without steering(), an agent refuses interrupt($mode)',
  async (request) => {
    const { agent } = setUp(['Fine.']);
    const errors: unknown[] = [];
    for await (const { type } of agent.stream('Go')) {
      if (type === 'pre-reasoning') errors.push(thrownBy(() => agent.interrupt(request)));
    }
    expect(errors).toMatchObject([
      {
        code: 'CONFIGURATION',
        message:
          `interrupt({ mode: '${request.mode}' }) needs the middleware "steering". Add it: ` +
          "import { steering } from '@isoloop/core/steering'; use: [steering()].",
      },
    ]);
    expect(agent.interrupt(request)).toBe(false);
  },
);

test('an agent refuses options that only ReActAgent can serve', async () => {
  const refused = (options: object): string => errorText(thrownBy(() => setUp([], options)));
  for (const name of [
    'onLimit',
    'interruptWhenIdle',
    'deferRound',
    'returnDirect',
    'retrievalRole',
  ])
    expect(refused({ [name]: true })).toContain(`Agent has no option \`${name}\`. It has: name,`);
  for (const name of ['tokens', 'toolCalls'])
    expect(refused({ limits: { [name]: 1 } })).toContain(
      `Agent: limits has no option \`${name}\`.`,
    );
  expect(refused({ whenBusy: 'inject' })).toBe(
    "Agent: whenBusy must be 'reject' or 'queue'; got a string.",
  );
  const { agent } = setUp([]);
  const given = {
    decisions: [],
    instructions: [],
    clientTexts: [],
    output: [],
    returnDirect: true,
  };
  for (const [name, value] of Object.entries(given)) {
    await expect(agent.call('Hi', { [name]: value } as object)).rejects.toThrow(
      `call() has no option \`${name}\`.`,
    );
  }
  // @ts-expect-error -- the type has no option that the kernel cannot serve
  const impossible: KernelOptions['whenBusy'] = 'inject';
  expect(impossible).toBe('inject');
});

test('an agent refuses the defaults of a preset for ReActAgent, and names the preset', () => {
  const refused = (use: UseList): string => errorText(thrownBy(() => setUp([], { use })));
  expect(refused([arcReactor()])).toBe(
    'The middleware "arcReactor" sets `retrievalRole`, which Agent does not have. Use ReActAgent.',
  );
  const limits = { toolCalls: 5 };
  expect(refused([{ name: 'mine', defaults: { limits } }])).toBe(
    'The middleware "mine" sets `toolCalls`, which Agent does not have. Use ReActAgent.',
  );
});

test('with approvals(), people decide about tool calls', async () => {
  const paid = vi.fn(() => 'paid');
  const pay = make('pay', { needsApproval: true, execute: paid });
  const color = make('color', {});
  const { agent } = setUp(
    [
      {
        toolCalls: [
          { name: 'pay', id: 'p' },
          { name: 'color', id: 'c' },
        ],
      },
      'Done.',
    ],
    {
      tools: [pay, color],
      use: [approvals()],
    },
  );
  const asked = await agent.call('Pay');
  expect(asked.pending.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    'pay approval',
    'color external',
  ]);
  expect(paid).not.toHaveBeenCalled();
  const done = await agent.call([
    { toolUseId: 'p', type: 'approve' },
    { toolUseId: 'c', type: 'result', output: 'red' },
  ]);
  expect(done).toMatchObject({ reason: 'stop', text: 'Done.' });
  expect(outputs(await agent.messages())).toEqual(['pay success: paid', 'color success: red']);
});

test('with steering(), others pause a run and add messages to it', async () => {
  const { agent, model } = setUp([{ toolCalls: [two] }, 'It is 2.'], { use: [steering()] });
  const pausing = agent.stream('What is 1 + 1?');
  for await (const { type } of pausing) {
    if (type === 'pre-acting')
      expect(agent.interrupt({ mode: 'inject', messages: 'In words.' })).toBe(true);
    if (type === 'post-acting') expect(agent.interrupt({ mode: 'pause' })).toBe(true);
  }
  expect(await pausing.result).toMatchObject({ reason: 'suspended', pending: [] });
  expect(await agent.call()).toMatchObject({ reason: 'stop', text: 'It is 2.' });
  expect(model.requests[1]!.messages.map(textOf)).toContain('In words.');
});

test('with directAnswers(), the result of a tool is the answer', async () => {
  const find = make('find', { returnDirect: true, execute: () => 'Found it.' });
  const { agent, model } = setUp([calls('find')], { tools: [find], use: [directAnswers()] });
  const stream = agent.stream('Find');
  const events = await eventsOf(stream);
  expect(orderFaults(events)).toEqual([]);
  expect(await stream.result).toMatchObject({ reason: 'return-direct', text: 'Found it.' });
  expect(model.requests).toHaveLength(1);
});

test('with answerAtLimit() and runLimits(), a call that reaches a limit still gets an answer', async () => {
  const limited = (use: KernelOptions['use']) =>
    setUp([{ toolCalls: [two] }, 'So far: 2.'], { limits: { iterations: 1 }, use: use! });
  expect(await limited([answerAtLimit()]).agent.call('Go')).toMatchObject({
    reason: 'max-iterations',
    text: 'So far: 2.',
  });
  const tokens = setUp([{ toolCalls: [two] }, 'So far: 2.'], {
    use: [answerAtLimit(), runLimits({ tokens: 10 })],
  });
  expect(await tokens.agent.call('Go')).toMatchObject({ reason: 'limit', text: 'So far: 2.' });
  const { agent, model } = setUp([{ toolCalls: [two] }, { toolCalls: [two] }, 'It is 2.'], {
    use: [runLimits({ toolCalls: 1 })],
  });
  expect(await agent.call('Go')).toMatchObject({ reason: 'limit', text: 'It is 2.' });
  expect(model.requests.map(({ tools }) => tools.length)).toEqual([1, 0, 0]);
});

test('middleware of one call serves only this call', async () => {
  const { agent } = setUp([{ toolCalls: [{ name: 'generate_response', input: { n: 2 } }] }, 'Hi.']);
  const counted = await agent.call('Count', { use: [structured(z.object({ n: z.number() }))] });
  expect(counted).toMatchObject({ reason: 'stop', output: { n: 2 } });
  const plain = await agent.call('Hi');
  expect([plain.text, plain.output]).toEqual(['Hi.', undefined]);
  expect((await agent.messages()).flatMap(toolUsesOf)).toEqual([]);
});

test('the session of an agent is that of its options, or else that of its memory', async () => {
  const memory = new SessionMemory(new MemoryStore(), 'of-memory');
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['Hi.']), memory });
  expect(agent.sessionId).toBe('of-memory');
  const named = new Agent({ name: 'a', model: new ScriptedModel([]), memory, sessionId: 'own' });
  expect(named.sessionId).toBe('own');
  expect(new Agent({ name: 'a', model: new ScriptedModel([]) }).sessionId).toMatch(
    /^[\da-f-]{36}$/,
  );
});
