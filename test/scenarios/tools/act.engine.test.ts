import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import {
  AgentError,
  type AgentEvent,
  InMemoryMemory,
  toolResultsOf,
  tool,
  type ToolContext,
  ReActAgent,
} from '@isoloop/core';
import type { Hook } from '@isoloop/core/event';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { contextToken, provide, Toolkit } from '@isoloop/core/tool';
import { calls, scriptedAgent } from '../../support/scripted-agent.ts';
import { fakeClock, type FakeClock } from '../../clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));

const input = z.object({});
const results = async (agent: ReActAgent) =>
  (await agent.messages())
    .flatMap(toolResultsOf)
    .map(({ name, state, output }) => `${name} ${state} ${String(output)}`);

/** Creates tools that never end. `started` resolves when `count` of them run. */
function endless(count: number) {
  const signals: AbortSignal[] = [];
  let resolve!: () => void;
  const started = new Promise<void>((done) => (resolve = done));
  const never = (name: string, timeoutMs?: number) =>
    tool({
      name,
      description: '',
      input,
      ...(timeoutMs !== undefined && { timeoutMs }),
      execute(_input, { signal }) {
        if (signals.push(signal) === count) resolve();
        return new Promise<string>(() => {});
      },
    });
  return { never, started, signals };
}

const fails = (name: string, error: Error) =>
  tool({
    name,
    description: '',
    input,
    execute: () => {
      throw error;
    },
  });

test('after five minutes or its own timeout, a tool’s signal is aborted, and the result is an error', async () => {
  const { never, started, signals } = endless(2);
  const { agent } = scriptedAgent([calls('slow', 'quick'), 'done'], {
    tools: [never('slow'), never('quick', 10)],
  });
  const run = agent.call('go');
  await started;
  await clock.advance(10);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  await clock.advance(300_000 - 11);
  expect(signals[0]!.aborted).toBe(false);
  await clock.advance(1);
  await run;
  expect(signals[0]!.reason).toMatchObject({ code: 'TOOL_TIMEOUT' });
  expect(await results(agent)).toEqual([
    'slow error Error: Tool "slow" timed out after 300000 ms',
    'quick error Error: Tool "quick" timed out after 10 ms',
  ]);
});

test('an error result does not affect the other tool calls, and a fatal error aborts them and ends the agent call', async () => {
  const { never, started, signals } = endless(1);
  const tools = [
    fails('broken', new Error('no disk')),
    fails('fatal', new AgentError('TOOL_ERROR', 'on fire')),
    never('sibling', 50),
  ];
  const mild = scriptedAgent([calls('sibling', 'broken'), 'done'], { tools });
  const run = mild.agent.call('go');
  await started;
  await clock.advance(49);
  expect(signals[0]!.aborted).toBe(false);
  await clock.advance(1);
  expect((await run).text).toBe('done');

  const fatal = scriptedAgent([calls('sibling', 'fatal')], { tools });
  await expect(fatal.agent.call('go')).rejects.toMatchObject({
    code: 'TOOL_ERROR',
    message: 'on fire',
  });
  expect(signals[1]!.aborted).toBe(true);
});

test('if the store fails while tools run, the other tools are aborted', async () => {
  const { never, signals } = endless(1);
  class Full extends InMemoryMemory {
    override async append(...args: Parameters<InMemoryMemory['append']>): Promise<void> {
      if (args[0].some(({ role }) => role === 'tool'))
        throw new AgentError('STORAGE_QUOTA', 'full');
      return super.append(...args);
    }
  }
  const quick = tool({ name: 'quick', description: '', input, execute: () => 'ok' });
  const { agent } = scriptedAgent([calls('sibling', 'quick')], {
    tools: [never('sibling', 50), quick],
    memory: new Full(),
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'STORAGE_QUOTA' });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

test('the error result says whether a tool is unknown, inactive or not allowed, or has invalid arguments', async () => {
  const off = tool({ name: 'off', description: '', input, group: 'admin', execute: () => 'ran' });
  const strict = tool({
    name: 'strict',
    description: '',
    input: z.object({ n: z.number() }),
    execute: () => 'ran',
  });
  const free = tool({ name: 'free', description: '', input, execute: () => 'ran' });
  const tools = new Toolkit([off, strict, free], {
    groups: [{ name: 'admin', description: '', active: false }],
  });
  const reply: ScriptedReply = {
    toolCalls: [
      { name: 'nobody' },
      { name: 'off' },
      { name: 'strict', input: '{"n": 1' },
      { name: 'strict', input: { n: 'x' } },
      { name: 'free' },
    ],
  };
  const { agent, model } = scriptedAgent([reply, 'done'], { tools });
  await agent.call('go', { allowTools: ['off', 'strict'] });
  expect(await results(agent)).toEqual([
    'nobody error Error: Tool not found: nobody. Available: strict.',
    expect.stringMatching(/^off error Error: Tool not available: off\. .*admin/),
    expect.stringMatching(
      /^strict error Error: The arguments of "strict".*\n- they are not valid JSON/,
    ),
    expect.stringMatching(/^strict error Error: The arguments of "strict".*\n- n: /),
    expect.stringMatching(/^free error Error: Tool not allowed/),
  ]);
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['strict']);
});

test('the progress of a tool goes to hooks and readers, never to the model', async () => {
  const chatty = tool({
    name: 'chatty',
    description: '',
    input,
    execute: (_input, { emit }) => {
      emit({ step: 'secret progress' });
      return 'ok';
    },
  });
  const heard: AgentEvent[] = [];
  const { agent, model } = scriptedAgent([calls('chatty'), 'done'], {
    tools: [chatty],
    use: [{ on: { 'acting-chunk': (event) => void heard.push(event) } }],
  });
  const read: AgentEvent[] = [];
  for await (const event of agent.stream('go')) if (event.type === 'acting-chunk') read.push(event);
  expect(read).toMatchObject([{ chunk: { step: 'secret progress' } }]);
  expect(heard).toEqual(read);
  expect(JSON.stringify(model.requests)).not.toContain('secret progress');
});

test('`toolContext` of a call overrides the agent’s, which overrides the toolkit’s; a missing value is a clear error', async () => {
  const [A, B, C, D] = ['a', 'b', 'c', 'd'].map((name) => contextToken<string>(name)) as [
    never,
    never,
    never,
    never,
  ];
  const show = tool({
    name: 'show',
    description: '',
    input,
    execute: (_input, { get }: ToolContext) =>
      [A, B, C].map((token) => get<string>(token)).join(' '),
  });
  const lacks = tool({
    name: 'lacks',
    description: '',
    input,
    execute: (_input, { get }) => get<string>(D),
  });
  const from = (who: string, ...tokens: never[]) =>
    tokens.map((token) => provide<string>(token, who));
  const tools = new Toolkit([show, lacks], { toolContext: from('toolkit', A, B, C) });
  const { agent } = scriptedAgent([calls('show', 'lacks'), 'done', calls('show'), 'done'], {
    tools,
    toolContext: from('agent', B, C),
  });
  await agent.call('go', { toolContext: from('call', C) });
  expect((await results(agent)).toSorted()).toEqual([
    'lacks error Error: Nothing is provided for "d". Add provide(token, value) to `toolContext` of the agent or of the agent call.',
    'show success toolkit agent call',
  ]);
  await agent.call('again');
  expect((await results(agent)).at(-1)).toBe('show success toolkit agent agent');
});

test('with `parallelTools: 1`, each tool starts after the previous tool has ended, in request order', async () => {
  const order: string[] = [];
  const step = tool({
    name: 'step',
    description: '',
    input,
    async execute(_input, { toolUseId }) {
      order.push(`${toolUseId} begins`);
      for (let tick = 0; tick < 10; tick += 1) await Promise.resolve();
      order.push(`${toolUseId} ends`);
    },
  });
  const { agent } = scriptedAgent([calls('step', 'step', 'step'), 'done'], {
    tools: [step],
    limits: { parallelTools: 1 },
  });
  await agent.call('go');
  expect(order).toEqual(
    ['call_1', 'call_2', 'call_3'].flatMap((id) => [`${id} begins`, `${id} ends`]),
  );
});

test('a tool with an infinite timeout is not aborted, and the timeout of a queued tool call starts when the tool starts', async () => {
  const { never, started, signals } = endless(1);
  const tools = [never('patient', Infinity), never('quick', 10)];
  const { agent } = scriptedAgent([calls('patient'), calls('quick', 'quick'), 'done'], {
    tools,
    limits: { parallelTools: 1 },
  });
  const controller = new AbortController();
  const run = agent.call('go', { signal: controller.signal });
  await started;
  await clock.advance(2 ** 31 - 2);
  expect(signals[0]!.aborted).toBe(false);
  controller.abort();
  expect((await run).reason).toBe('aborted');

  const next = agent.call('go on');
  await clock.advance(10);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false]);
  await clock.advance(10);
  expect((await next).text).toBe('done');
});

test('if a hook throws after one tool call, the other tools are aborted', async () => {
  const { never, signals } = endless(1);
  const quick = tool({ name: 'quick', description: '', input, execute: () => 'ok' });
  const hooks = [{ on: { 'post-acting': () => Promise.reject(new Error('no')) } }];
  const { agent } = scriptedAgent([calls('sibling', 'quick')], {
    tools: [never('sibling'), quick],
    use: [...hooks],
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'HOOK_ERROR' });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(agent.busy).toBe(false);
});

test('a tool call that fails fatally has its error as result, and one that finished before keeps its result', async () => {
  const quick = tool({ name: 'quick', description: '', input, execute: () => 'ok' });
  let burn!: () => void;
  const burning = new Promise<void>((resolve) => (burn = resolve));
  const fatal = tool({
    name: 'fatal',
    description: '',
    input,
    async execute() {
      await burning;
      throw new AgentError('TOOL_ERROR', 'on fire');
    },
  });
  const hooks = [{ on: { 'post-acting': () => void queueMicrotask(burn) } }];
  const { agent } = scriptedAgent([calls('fatal', 'quick')], {
    tools: [fatal, quick],
    use: [...hooks],
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'TOOL_ERROR' });
  expect(await results(agent)).toEqual(['fatal error Error: on fire', 'quick success ok']);
});

test('a tool’s oldest progress reports are dropped if there are too many, and late reports are ignored', async () => {
  let late!: (progress: number) => void;
  const chatty = tool({
    name: 'chatty',
    description: '',
    input,
    execute(_input, { emit }) {
      late = emit;
      for (let report = 1; report <= 1000; report += 1) emit(report);
      return 'ok';
    },
  });
  const { agent } = scriptedAgent([calls('chatty', 'chatty'), 'done'], { tools: [chatty] });
  const reports: Record<string, unknown[]> = {};
  const order: string[] = [];
  for await (const event of agent.stream('go')) {
    if (event.type === 'post-reasoning') continue;
    if (event.type === 'acting-chunk') (reports[event.toolUseId] ??= []).push(event.chunk);
    if (event.type === 'post-acting') late(0);
    if (event.type === 'acting-chunk' || event.type === 'post-acting') order.push(event.type);
  }
  for (const id of ['call_1', 'call_2']) {
    expect(reports[id]).toEqual(Array.from({ length: 64 }, (_unused, index) => 937 + index));
  }
  expect(order.lastIndexOf('acting-chunk')).toBeLessThan(order.lastIndexOf('post-acting'));
  expect(await results(agent)).toEqual(['chatty success ok', 'chatty success ok']);
});

test('if a tool forwards events of another run, they keep their run id and path, and get new sequence numbers', async () => {
  const child = new ReActAgent({ name: 'child', model: new ScriptedModel(['from the child']) });
  const ask = tool({
    name: 'ask',
    description: '',
    input,
    async execute(_input, { forward, agentPath }) {
      for await (const batch of child.stream('hi').batches()) {
        forward(
          batch.map((event) => ({ ...event, agentPath: [...agentPath, ...event.agentPath] })),
        );
      }
      return 'asked';
    },
  });
  const heard: AgentEvent[] = [];
  const { agent } = scriptedAgent([calls('ask'), 'done'], {
    tools: [ask],
    use: [{ on: { '*': (event) => void heard.push(event) } }],
  });
  const events: AgentEvent[] = [];
  const stream = agent.stream('go');
  for await (const event of stream) events.push(event);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
  const forwarded = events.filter(({ runId }) => runId !== stream.runId);
  expect(forwarded.map(({ type }) => type)).toContain('run-end');
  expect(new Set(forwarded.map(({ runId }) => runId)).size).toBe(1);
  expect(
    forwarded.every(
      ({ agentPath, sessionId }) => agentPath.join() === 'a,child' && sessionId === child.sessionId,
    ),
  ).toBe(true);
  expect(events.filter(({ runId }) => runId === stream.runId)).toEqual(heard);
  const types = events.map(({ type }) => type);
  expect(types.indexOf('pre-acting')).toBeLessThan(events.indexOf(forwarded[0]!));
  expect(events.indexOf(forwarded.at(-1)!)).toBeLessThan(types.indexOf('post-acting'));
});

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

test.for<readonly [string, object]>([
  ['a cycle', cycle],
  ['a bigint', { n: 1n }],
])('a tool result without a JSON form is an error result: %s', async ([, output]) => {
  const odd = tool({ name: 'odd', description: '', input, execute: () => output });
  const { agent } = scriptedAgent([calls('odd'), 'done'], { tools: [odd] });
  expect((await agent.call('go')).text).toBe('done');
  expect(await results(agent)).toEqual([expect.stringMatching(/^odd error Error: /)]);
});

test('if one tool sends too many progress reports, no report of another tool is dropped', async () => {
  let flood = (_count: number): void => {};
  const first = tool({
    name: 'first',
    description: '',
    input,
    execute(_input, { emit }) {
      emit(0);
      flood = (count) => {
        for (let n = 1; n <= count; n += 1) emit(n);
      };
    },
  });
  const second = tool({
    name: 'second',
    description: '',
    input,
    execute(_input, { emit }) {
      emit('mine');
      flood(64);
    },
  });
  const { agent } = scriptedAgent([calls('first', 'second'), 'done'], { tools: [first, second] });
  const chunks: unknown[] = [];
  agent.addHook({ on: { 'acting-chunk': ({ chunk }) => void chunks.push(chunk) } });
  await agent.call('go');
  expect(chunks).toEqual(['mine', ...Array.from({ length: 64 }, (_none, index) => index + 1)]);
});

test('progress without a JSON form is an error of its own tool call, and the other tools continue', async () => {
  const odd = tool({
    name: 'odd',
    description: '',
    input,
    execute: (_input, { emit }) => (emit((() => {}) as unknown as string), 'ok'),
  });
  const fine = tool({ name: 'fine', description: '', input, execute: () => 'ok' });
  const { agent } = scriptedAgent([calls('odd', 'fine'), 'done'], { tools: [odd, fine] });
  expect((await agent.call('go')).text).toBe('done');
  const [first, second] = (await results(agent)).toSorted();
  expect(first).toBe('fine success ok');
  expect(second).toMatch(/^odd error Error: .*function/);
});

test('a hook in plain JavaScript can reject a tool call without a reason', async () => {
  let ran = false;
  const guarded = tool({
    name: 'guarded',
    description: 'x',
    input: { type: 'object' },
    execute: () => {
      ran = true;
      return 'done';
    },
  });
  const reject: Hook = {
    on: { 'pre-acting': (event) => event.reject(undefined as never) },
  };
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'guarded' }] }, 'Fine.'], {
    tools: [guarded],
    use: [reject],
  });
  await agent.call('go');
  expect(ran).toBe(false);
  expect((await results(agent))[0]).toMatch(/^guarded denied /);
});
