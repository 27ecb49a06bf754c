import { expect, test, beforeEach } from 'vitest';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import {
  ReActAgent,
  assistantMessage,
  userMessage,
  textOf,
  tool,
  type AgentOptions,
  type AgentEvent,
  MemoryStore,
  SessionMemory,
  toolMessage,
} from '@isoloop/core';
import { historyFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import type { HookControls } from '@isoloop/core/event';
import { positionHooks, type PositionHook } from './position-hooks.ts';
import { pay } from '@test/support/plain-tools.ts';
import { springAiAlibaba } from './spring-ai-alibaba.ts';
import { closeOpenCalls } from '@isoloop/core/approval';

const ran: string[] = [];
const note = tool({
  name: 'note',
  description: '',
  input: { type: 'object' },
  execute: () => {
    ran.push('note');
    return 'noted';
  },
});

async function runWith(
  replies: readonly ScriptedReply[],
  hooks: readonly PositionHook[],
  options: Partial<AgentOptions> = {},
) {
  ran.length = 0;
  const { agent, model } = scriptedAgent(replies, {
    tools: [note],
    ...options,
    use: [positionHooks(hooks), ...(options.use ?? [])],
  });
  const stream = agent.stream('go');
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(orderFaults(events)).toEqual([]);
  return { result: await stream.result, model, agent };
}

/** Creates a hook that records each position at which it is called. */
const at = (name: string, more: Partial<PositionHook> = {}): PositionHook => ({
  name,
  beforeAgent: () => void ran.push(`${name} beforeAgent`),
  beforeModel: () => void ran.push(`${name} beforeModel`),
  afterModel: () => void ran.push(`${name} afterModel`),
  afterAgent: () => void ran.push(`${name} afterAgent`),
  ...more,
});
const around = (...names: string[]): string[] => [
  ...names.map((name) => `${name} beforeModel`),
  ...names.toReversed().map((name) => `${name} afterModel`),
];

test('the error about an invalid event names the position hook that returned it', async () => {
  const use = [
    positionHooks([
      { name: 'fine', beforeModel: (event) => ({ ...event }) },
      { name: 'wrong', beforeModel: (event) => ({ ...event, tools: 'all' as never }) },
    ]),
  ];
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['done']), use });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'wrong', event: 'pre-reasoning', field: 'tools' },
  });
});

test('agent hooks run once and model hooks around each request, before-hooks in order and after-hooks in reverse, by priority', async () => {
  await runWith(
    [{ toolCalls: [{ name: 'note' }] }, 'Done.'],
    [at('late', { priority: 1 }), at('a'), at('b'), at('first', { priority: -1 })],
  );
  const names = ['first', 'a', 'b', 'late'];
  expect(ran).toEqual([
    ...names.map((name) => `${name} beforeAgent`),
    ...around(...names),
    'note',
    ...around(...names),
    ...names.toReversed().map((name) => `${name} afterAgent`),
  ]);
});

/** Creates a hook that adds its name to each reply. */
const sign = (name: string): PositionHook => ({
  name,
  afterModel: (event) => ({
    ...event,
    message: {
      ...event.message,
      content: [{ type: 'text', text: `${textOf(event.message)} ${name}` }],
    },
  }),
});

test('each hook gets the result of the previous hook at its position', async () => {
  expect((await runWith(['Done.'], [sign('a'), sign('b')])).result.text).toBe('Done. b a');
});

test('positionHooks() rejects two hooks with the same name, and values that are not hooks', () => {
  expect(() => positionHooks([at('a'), at('a')])).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }) as Error,
  );
  expect(() => positionHooks([{ name: 1 } as never])).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }) as Error,
  );
  expect(() => positionHooks('a' as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }) as Error,
  );
});

test("an exception in a hook fails the call and names the hook, or is ignored with `onError: 'ignore'`", async () => {
  const broken: PositionHook = {
    name: 'broken',
    beforeModel: () => Promise.reject(new Error('down')),
  };
  await expect(runWith([], [broken])).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'broken', event: 'pre-reasoning' },
  });
  expect((await runWith(['Done.'], [{ ...broken, onError: 'ignore' }, at('b')])).result.text).toBe(
    'Done.',
  );
  expect(ran).toContain('b beforeModel');
});

test("jumpTo('end') skips the later hooks, but not the afterAgent hooks", async () => {
  const ends = at('ends', { beforeModel: ({ jumpTo }) => jumpTo('end', 'Enough.') });
  const { result, model } = await runWith([], [at('a'), ends, at('b')]);
  expect(result).toMatchObject({ reason: 'stopped-by-hook', text: 'Enough.' });
  expect(model.requests).toEqual([]);
  expect(ran).toEqual([
    ...['a', 'ends', 'b'].map((name) => `${name} beforeAgent`),
    'a beforeModel',
    ...['b', 'ends', 'a'].map((name) => `${name} afterAgent`),
  ]);
});

test('a jump in beforeAgent takes effect before the first model request, only in its own call', async () => {
  let calls = 0;
  const ends = at('ends', {
    beforeAgent: ({ jumpTo }) => (calls++ ? undefined : jumpTo('end', 'Closed today.', 'limit')),
  });
  const { result, agent } = await runWith(['Open.'], [ends, at('b')]);
  expect(result).toMatchObject({ reason: 'limit', text: 'Closed today.' });
  expect(ran).toEqual(['b afterAgent', 'ends afterAgent']);
  expect((await agent.call('again')).text).toBe('Open.');
});

test("jumpTo('model') in beforeModel skips the other beforeModel hooks and makes one request", async () => {
  const skips = at('skips', { beforeModel: ({ jumpTo }) => jumpTo('model') });
  const { result, model } = await runWith(['Done.'], [skips, at('b')]);
  expect([result.text, result.iterations, model.requests.length]).toEqual(['Done.', 1, 1]);
  expect(ran).not.toContain('b beforeModel');
  expect(ran).toContain('b afterModel');
});

test('a hook in afterModel can return to the model, run its own tool calls, or end the call', async () => {
  let times = 0;
  const again = at('again', {
    afterModel: ({ gotoReasoning }) => (times++ ? undefined : gotoReasoning([])),
  });
  expect((await runWith(['One.', 'Two.'], [at('a'), again])).result.text).toBe('Two.');
  expect(ran.filter((line) => line === 'a afterModel')).toHaveLength(1);
  const call = assistantMessage([{ type: 'tool_use', id: 'own', name: 'note', input: {} }]);
  const acts = at('acts', {
    afterModel: ({ iteration, jumpTo }) => (iteration === 1 ? jumpTo('tools', call) : undefined),
  });
  expect((await runWith(['One.', 'Two.'], [acts])).result).toMatchObject({
    text: 'Two.',
    toolsUsed: ['note'],
  });
  expect(ran.filter((line) => line === 'note')).toHaveLength(1);
  const stops = at('stops', { afterModel: ({ stop }) => stop() });
  expect((await runWith(['One.'], [stops])).result).toMatchObject({
    reason: 'stopped-by-hook',
    text: 'One.',
  });
});

const own = assistantMessage([{ type: 'tool_use', id: 'own', name: 'note', input: {} }]);
const asks: Readonly<Record<string, (event: HookControls) => void>> = {
  model: ({ jumpTo }) => jumpTo('model', userMessage('Mind the gap.')),
  gotoReasoning: ({ gotoReasoning }) => gotoReasoning([userMessage('Mind the gap.')]),
  tools: ({ jumpTo }) => jumpTo('tools', own),
  end: ({ jumpTo }) => jumpTo('end', 'Over.'),
  stop: ({ stop }) => stop(),
};
const positions = ['beforeAgent', 'beforeModel', 'afterModel', 'afterAgent'] as const;

const allowed = positions.flatMap((position) => {
  if (position === 'afterAgent') return [];
  const may = Object.keys(asks).filter(
    (to) => position !== 'beforeAgent' || to !== 'gotoReasoning',
  );
  return may.map((to) => [position, to] as const);
});

test('afterAgent has no controls, and beforeAgent has no `gotoReasoning`', async () => {
  const wrong = (position: 'afterAgent' | 'beforeAgent', name: 'stop' | 'gotoReasoning') =>
    at('wrong', { [position]: (event: HookControls) => event[name]([]) });
  for (const hook of [wrong('afterAgent', 'stop'), wrong('beforeAgent', 'gotoReasoning')])
    await expect(runWith(['One.'], [hook])).rejects.toMatchObject({ code: 'CONFIGURATION' });
});

test.each(allowed)('a hook at %s uses the control %s', async (position, to) => {
  let times = 0;
  const once = (event: HookControls): void =>
    void (times++ || (asks[to]!(event), event.jumpTo('end', 'Too late.')));
  const [first, other] = position.startsWith('after')
    ? [at('other'), at('jumps', { [position]: once })]
    : [at('jumps', { [position]: once }), at('other')];
  const { result, model, agent } = await runWith(['One.', 'Two.'], [first, other]);
  const ends = /end|stop/.test(to);
  const asked = position === 'afterModel' ? 1 : 0;
  expect(model.requests).toHaveLength(asked + (ends ? 0 : 1));
  const said = ['One.', 'Two.'][asked + (ends ? -1 : 0)] ?? '';
  expect([result.reason, result.text]).toEqual([
    ends ? 'stopped-by-hook' : 'stop',
    to === 'end' ? 'Over.' : said,
  ]);
  expect(ran.includes('note')).toBe(to === 'tools');
  const texts = (await agent.messages()).map(textOf);
  expect(texts.includes('Mind the gap.')).toBe(/model|goto/.test(to));
  expect(texts).not.toContain('Too late.');
  expect(historyFaults(await agent.messages())).toEqual([]);
  // A jump to the end skips the later hooks of its position.
  const heard = ran.filter((line) => line === `other ${position}`).length;
  expect(heard).toBe(!ends && position !== 'beforeAgent' ? 1 : 0);
});

test("with `onHookError: 'ignore'`, only the hook that fails is ignored, not the other hooks of the list", async () => {
  const broken: PositionHook = {
    name: 'broken',
    afterModel: () => Promise.reject(new Error('down')),
  };
  const hooks = [sign('a'), broken, sign('b')];
  expect((await runWith(['Done.'], hooks, { onHookError: 'ignore' })).result.text).toBe(
    'Done. b a',
  );
  const strict = hooks.map((hook) => ({ ...hook, onError: 'fail' }) as const);
  await expect(runWith(['Done.'], strict, { onHookError: 'ignore' })).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'broken' },
  });
});

test('a hook may be an object of a class with fields of its own', async () => {
  class Counter {
    readonly name = 'counter';
    count = 0;
    beforeModel(): void {
      this.count += 1;
    }
  }
  const counter = new Counter();
  const model = new ScriptedModel(['done']);
  await new ReActAgent({ name: 'a', model, use: [positionHooks([counter])] }).call('go');
  expect(counter.count).toBe(1);
});

beforeEach(() => void ran.splice(0));

const hook: PositionHook = {
  name: 'around',
  beforeAgent: () => void ran.push('before'),
  afterAgent: ({ message }) => void ran.push(`after ${message.role}`),
};
const call = (id: string): ScriptedReply => ({ toolCalls: [{ name: 'pay', id }] });
const approve = (toolUseId: string) => ({ toolUseId, type: 'approve' }) as const;

function agentWith(replies: readonly ScriptedReply[], more: Partial<AgentOptions> = {}) {
  const use = [positionHooks([hook]), ...(more.use ?? [])];
  const model = new ScriptedModel(replies);
  return new ReActAgent({ name: 'a', model, tools: [pay], ...more, use });
}

test('beforeAgent and afterAgent run once for a call that suspends twice', async () => {
  const agent = agentWith([call('one'), call('two'), 'Done.', 'Again.']);
  expect((await agent.call('go')).reason).toBe('suspended');
  expect((await agent.call()).reason).toBe('suspended');
  await expect(agent.call([approve('other')])).rejects.toMatchObject({ code: 'INVALID_DECISION' });
  expect((await agent.call([approve('one')])).reason).toBe('suspended');
  expect(ran).toEqual(['before']);
  expect((await agent.call([approve('two')])).text).toBe('Done.');
  expect(ran).toEqual(['before', 'after assistant']);
  await agent.call('again');
  expect(ran).toEqual(['before', 'after assistant', 'before', 'after assistant']);
});

test.each(['call', 'stream'] as const)(
  'if a new process continues the call with %s(), beforeAgent does not run again',
  async (by) => {
    const store = new MemoryStore();
    const use = [springAiAlibaba({ hooks: [hook] })];
    const open = (...replies: ScriptedReply[]): ReActAgent =>
      new ReActAgent({
        name: 'a',
        model: new ScriptedModel(replies),
        tools: [pay],
        memory: new SessionMemory(store, 's'),
        use,
      });
    await open(call('one')).call('go');
    const next = open('Done.');
    if (by === 'call') await next.call([approve('one')]);
    else await next.stream([approve('one')]).result;
    expect(ran).toEqual(['before', 'after assistant']);
  },
);

test('a tool result as a message continues the call, so beforeAgent does not run again', async () => {
  const agent = agentWith([call('one'), 'Done.']);
  await agent.call('go');
  await agent.call(
    toolMessage({
      type: 'tool_result',
      toolUseId: 'one',
      name: 'pay',
      output: 'by hand',
      state: 'success',
    }),
  );
  expect(ran).toEqual(['before', 'after assistant']);
});

test('a pause and an error do not end the call, so beforeAgent does not run again', async () => {
  const controls: AgentOptions['use'] = [
    {
      on: {
        'pre-reasoning': ({ iteration }, run) => {
          if (ran.length === 1 && iteration === 1) {
            ran.push('pause');
            run.ending.interrupt({ mode: 'pause' });
          }
        },
      },
    },
  ];
  const agent = agentWith([{ error: new Error('down') }, 'Done.'], { use: controls });
  expect((await agent.call('go')).reason).toBe('suspended');
  await expect(agent.call()).rejects.toMatchObject({ code: 'INTERNAL' });
  expect((await agent.call()).text).toBe('Done.');
  expect(ran).toEqual(['before', 'pause', 'after assistant']);
});

test('if a hook stops with open tool calls, afterAgent runs in the run that ends the call', async () => {
  let stops = true;
  const stop = (event: Pick<HookControls, 'stop'>): void => {
    if (stops) event.stop();
    stops = false;
  };
  const free = { ...pay, needsApproval: false };
  const agent = agentWith([call('one'), 'Done.'], {
    tools: [free],
    use: [{ on: { 'pre-acting': stop } }],
  });
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect((await agent.call()).text).toBe('Done.');
  expect(ran).toEqual(['before', 'after assistant']);
  stops = true;
  const later = agentWith([call('one'), 'Done.'], {
    tools: [free],
    use: [{ on: { 'post-reasoning': stop } }],
  });
  expect((await later.call('go')).reason).toBe('stopped-by-hook');
  expect((await later.call()).text).toBe('Done.');
  expect(ran.slice(2)).toEqual(['before', 'after assistant']);
});

test('a stop without open tool calls, or a new message instead of a decision, ends the call, and the next call runs beforeAgent', async () => {
  const stopped = agentWith(['One.'], {
    use: [{ on: { 'post-reasoning': ({ stop }) => stop() } }],
  });
  await stopped.call('go');
  expect(ran).toEqual(['before', 'after assistant']);
  ran.splice(0);
  const agent = agentWith([call('one'), 'Done.'], { use: [closeOpenCalls()] });
  await agent.call('go');
  await agent.call('never mind');
  expect(ran).toEqual(['before', 'before', 'after assistant']);
});

test('if an answer is returned again after a crash, its hooks do not run again', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  const first = agentWith(['Done.'], { memory });
  // This process stores the answer at once, and dies before it stores the end of the run.
  const { append } = memory;
  memory.append = (messages) => append.call(memory, messages);
  memory.flush = () => new Promise(() => {});
  const controller = new AbortController();
  const ended = first.call('go', { signal: controller.signal });
  await expect.poll(async () => (await new SessionMemory(store, 's').read()).length).toBe(2);
  controller.abort();
  await ended;
  const next = agentWith([], { memory: new SessionMemory(store, 's') });
  expect((await next.call()).text).toBe('Done.');
  expect(ran).toEqual(['before', 'after assistant']);
});

test('a beforeAgent hook that failed runs again in the next call', async () => {
  let fails = true;
  const fragile: PositionHook = {
    name: 'fragile',
    beforeAgent() {
      if (fails) throw new Error('down');
    },
  };
  const agent = agentWith(['Done.'], { use: [{ ...positionHooks([fragile]), name: 'fragile' }] });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'HOOK_ERROR' });
  fails = false;
  await agent.call('go');
  expect(ran).toEqual(['before', 'before', 'after assistant']);
});
