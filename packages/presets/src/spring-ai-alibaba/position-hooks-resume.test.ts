import { beforeEach, expect, test } from 'vitest';
import { pay } from '@test/support/plain-tools.ts';
import {
  ReActAgent,
  type AgentOptions,
  MemoryStore,
  SessionMemory,
  toolMessage,
} from '@isoloop/core';
import { springAiAlibaba } from './spring-ai-alibaba.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import type { HookControls } from '@isoloop/core/event';
import { closeOpenCalls } from '@isoloop/core/approval';
import { positionHooks, type PositionHook } from './position-hooks.ts';

const ran: string[] = [];
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
