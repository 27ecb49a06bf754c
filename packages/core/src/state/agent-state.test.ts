import { expect, test } from 'vitest';
import * as z from 'zod';
import { AgentError } from '../error/agent-error.ts';
import type { Hook } from '../event/hook.ts';
import { toolResultsOf } from '../message/msg.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import type { Memory } from '../memory/memory.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { Toolkit } from '../tool/set/toolkit.ts';
import { loadState, saveState, type AgentState } from './agent-state.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';

const pay = tool({
  name: 'pay',
  description: '',
  input: z.object({ sum: z.number() }),
  needsApproval: true,
  execute: ({ sum }) => `paid ${sum}`,
});

function setUp(replies: readonly ScriptedReply[], memory: Memory = new InMemoryMemory()) {
  const model = new ScriptedModel(replies);
  return { model, memory, agent: new ReActAgent({ name: 'a', model, memory, tools: [pay] }) };
}

test('a saved conversation moves to another agent with its open tool call, which can then be decided', async () => {
  const first = setUp([{ toolCalls: [{ name: 'pay', input: { sum: 5 } }] }]);
  const { pending } = await first.agent.call('Pay 5');
  const wire = JSON.stringify(await saveState(first.agent));

  const store = new SessionMemory(new MemoryStore(), 's');
  const second = setUp(['done'], store);
  await loadState(second.agent, JSON.parse(wire));
  expect(await second.agent.messages()).toEqual(await first.agent.messages());
  expect((await second.agent.call()).pending).toEqual(pending);
  const result = await second.agent.call([{ toolUseId: pending[0]!.toolUseId, type: 'approve' }]);
  expect(result.text).toBe('done');
  expect(JSON.stringify(second.model.requests[0]!.messages)).toContain('paid 5');
});

test.each([
  ['a session’s log', () => new SessionMemory(new MemoryStore(), 's')],
  ['messages alone', () => new InMemoryMemory()],
])('the state of open tool calls moves from and to %s', async (_name, memory) => {
  const runs: string[] = [];
  const hooked: string[] = [];
  const tools = [
    pay,
    tool({
      name: 'wait',
      description: '',
      input: z.object({}),
      execute: (_input, ctx) => (runs.push('wait'), ctx.suspend('Later.')),
    }),
    tool({
      name: 'lost',
      description: '',
      input: z.object({}),
      execute: () => (runs.push('lost'), new Promise<string>(() => {})),
    }),
    tool({
      name: 'fatal',
      description: '',
      input: z.object({}),
      execute: () => Promise.reject(new AgentError('TOOL_ERROR', 'Fatal.')),
    }),
    tool({
      name: 'edited',
      description: '',
      input: z.object({ n: z.number() }),
      needsApproval: true,
      execute: ({ n }) => `n ${n} ${runs.push('edited')}`,
    }),
  ];
  const hooks: readonly Hook[] = [
    {
      on: { 'pre-acting': ({ toolUse }) => void hooked.push(toolUse.name) },
    },
  ];
  const names = ['pay', 'wait', 'lost', 'fatal', 'edited'];
  const asks = { toolCalls: names.map((name) => ({ name, id: name, input: { sum: 5, n: 1 } })) };
  const open = (replies: readonly ScriptedReply[]) =>
    new ReActAgent({
      name: 'a',
      model: new ScriptedModel(replies),
      memory: memory(),
      tools,
      use: [...hooks],
    });
  const first = open([asks]);
  await expect(first.call('go')).rejects.toMatchObject({ code: 'TOOL_ERROR' });

  const second = open([]);
  await loadState(second, JSON.parse(JSON.stringify(await saveState(first))));
  const third = open(['Done.']);
  await loadState(third, await saveState(second));
  const { pending } = await third.call();
  expect(pending.map(({ name, kind }) => `${name} ${kind}`).toSorted()).toEqual([
    'edited approval',
    'pay approval',
    'wait suspended',
  ]);
  await third.call([{ toolUseId: 'edited', type: 'edit', input: { n: 7 } }]);
  const end = await third.call([
    { toolUseId: 'pay', type: 'reject' },
    { toolUseId: 'wait', type: 'result', output: 'waited' },
  ]);
  expect(end.text).toBe('Done.');
  expect(runs).toEqual(['wait', 'lost', 'edited']);
  expect(hooked).toEqual(names);
  const states = (await third.messages())
    .flatMap(toolResultsOf)
    .map(({ name, state, output }) => [name, state, output]);
  expect(states).toContainEqual([
    'lost',
    'interrupted',
    'Interrupted before it finished; its effect is unknown.',
  ]);
  expect(states).toContainEqual(['edited', 'success', 'n 7 3']);
});

test('the interrupted flag is saved and loaded, and the next call clears it', async () => {
  const first = setUp([{ text: 'one two three' }, 'again']);
  first.agent.addHook({ on: { 'reasoning-chunk': () => void first.agent.interrupt() } });
  await first.agent.call('go');
  const state = await saveState(first.agent);
  expect(state.interrupted).toBe(true);
  const second = setUp(['fine']);
  await loadState(second.agent, state);
  expect((await saveState(second.agent)).interrupted).toBe(true);
  await second.agent.call('go on');
  expect((await saveState(second.agent)).interrupted).toBe(false);
});

test('saved and loaded states share no objects', async () => {
  const { agent } = setUp(['hello']);
  await agent.call('hi');
  const state = await saveState(agent);
  const other = setUp(['later']);
  await loadState(other.agent, state);
  (state.messages as unknown[]).length = 0;
  expect(await other.agent.messages()).toHaveLength(2);
  expect(await agent.messages()).toHaveLength(2);
});

const good: AgentState = {
  version: 5,
  messages: [],
  activeGroups: null,
  interrupted: false,
  calls: {},
  openRunId: null,
  state: {},
};

test.for([
  ['nothing', undefined, 'must be an object'],
  ['a later version', { ...good, version: good.version + 1 }, `version is ${good.version + 1}`],
  ['no version', { ...good, version: undefined }, 'version is undefined'],
  ['a damaged message', { ...good, messages: [{ id: 'm', role: 'robot' }] }, 'role'],
  ['messages that are not an array', { ...good, messages: 'x' }, 'array'],
  ['active groups without tool groups', { ...good, activeGroups: ['admin'] }, 'no tool groups'],
  ['groups of another type', { ...good, activeGroups: [1] }, 'activeGroups'],
  [
    'groups of which one is of another type',
    { ...good, activeGroups: ['a', 1] },
    'activeGroups must',
  ],
  ['groups that are not an array', { ...good, activeGroups: 'a' }, 'activeGroups must'],
  ['a flag of another type', { ...good, interrupted: 'no' }, 'interrupted'],
  ['a run of another type', { ...good, openRunId: 1 }, 'openRunId'],
  ['a state that is not an object', { ...good, state: [] }, 'state'],
  ['calls of another type', { ...good, calls: null }, 'calls'],
  ['a call that is not open', { ...good, calls: { call_9: {} } }, 'call_9'],
  ['a function', { ...good, messages: () => [] }, 'plain JSON'],
] as const)('loadState() rejects %s, and the agent does not change', async ([, state, words]) => {
  const { agent } = setUp(['hello', 'still here']);
  await agent.call('hi');
  const before = await saveState(agent);
  await expect(loadState(agent, state)).rejects.toMatchObject({
    code: 'INVALID_STATE',
    message: expect.stringContaining(words),
  });
  expect(await saveState(agent)).toEqual(before);
  expect((await agent.call('more')).text).toBe('still here');
});

test('loadState() rejects a damaged state of a tool call', async () => {
  const { agent } = setUp([{ toolCalls: [{ name: 'pay', input: { sum: 5 }, id: 'c' }] }]);
  await agent.call('Pay 5');
  const state = await saveState(agent);
  expect(Object.keys(state.calls)).toEqual(['c']);
  const damaged = [
    null,
    { started: 'yes' },
    { approved: 1 },
    { pending: {} },
    { pending: 'x' },
    { waitedFor: { toolUseId: 'other', kind: 'approval' } },
    { pending: { toolUseId: 'c' } },
    { pending: { toolUseId: 'other', kind: 'approval' } },
    { toolUse: 'x' },
    { toolUse: { id: 'c' } },
    { toolUse: { id: 'other', name: 'pay' } },
  ];
  for (const call of damaged) {
    await expect(loadState(agent, { ...state, calls: { c: call } })).rejects.toMatchObject({
      code: 'INVALID_STATE',
    });
  }
  for (const call of [
    {},
    { started: true, approved: true },
    { toolUse: { id: 'c', name: 'pay', input: {} } },
  ]) {
    await loadState(agent, { ...state, calls: { c: call } });
    expect((await saveState(agent)).calls).toEqual({ c: call });
  }
});

test('loadState() replaces the earlier conversation', async () => {
  const { agent } = setUp([{ toolCalls: [{ name: 'pay', input: { sum: 5 } }] }]);
  await agent.call('Pay 5');
  await loadState(agent, good);
  expect(await saveState(agent)).toEqual(good);
});

test('after loadState(), the next run names the run that left tool calls open', async () => {
  const first = setUp([{ toolCalls: [{ name: 'pay', input: { sum: 5 } }] }]);
  const stream = first.agent.stream('Pay 5');
  await stream.result;
  const second = setUp([]);
  await loadState(second.agent, await saveState(first.agent));
  const resumed = second.agent.stream();
  const { value } = await resumed[Symbol.asyncIterator]().next();
  expect(value).toMatchObject({ type: 'run-start', resumes: stream.runId });
  await resumed.cancel();
});

const group = (name: string) => ({ name, description: name, active: false });
const grouped = (memory: Memory = new InMemoryMemory()) =>
  new ReActAgent({
    name: 'a',
    model: new ScriptedModel(['hi']),
    memory,
    tools: new Toolkit([], { groups: [group('web'), group('files')] }),
  });

test('active groups are saved and loaded, and an agent without groups accepts a state without active groups', async () => {
  const first = grouped();
  first.tools.setActiveGroups!(['web']);
  const state = await saveState(first);
  expect(state.activeGroups).toEqual(['web']);
  const second = grouped();
  second.tools.setActiveGroups!(['files']);
  await loadState(second, state);
  expect(second.tools.activeGroups!()).toEqual(['web']);
  const { agent } = setUp([]);
  await loadState(agent, { ...good, activeGroups: [] });
  await expect(loadState(second, { ...good, activeGroups: ['nope'] })).rejects.toMatchObject({
    code: 'INVALID_STATE',
    cause: { code: 'INVALID_INPUT', message: expect.stringContaining('"nope"') },
  });
});

test.for(['append', 'clear', 'flush'] as const)(
  'if the store fails at %s, loadState() leaves the groups and all other state unchanged',
  async (refused) => {
    class Failing extends InMemoryMemory {
      refused: string | undefined;
      override async append(...args: Parameters<InMemoryMemory['append']>): Promise<void> {
        if (this.refused === 'append') throw new Error('full');
        return super.append(...args);
      }
      override async clear(): Promise<void> {
        if (this.refused === 'clear') throw new Error('full');
        return super.clear();
      }
      override async flush(): Promise<void> {
        if (this.refused === 'flush') throw new Error('full');
      }
    }
    const memory = new Failing();
    const agent = grouped(memory);
    agent.tools.setActiveGroups!(['files']);
    memory.refused = refused;
    await expect(
      loadState(agent, { ...good, activeGroups: ['web'], interrupted: true }),
    ).rejects.toThrow('full');
    expect(await saveState(agent)).toEqual({ ...good, activeGroups: ['files'] });
  },
);

test('if restoring the earlier conversation fails too, the first failure is reported', async () => {
  class Full extends InMemoryMemory {
    tries = 0;
    override append(): Promise<void> {
      return Promise.reject(new Error(`full ${(this.tries += 1)}`));
    }
  }
  const memory = new Full([
    { id: 'old', role: 'user', content: [], createdAt: '2026-01-01T00:00:00.000Z' },
  ]);
  const { agent } = setUp([], memory);
  await expect(loadState(agent, good)).rejects.toThrow('full 1');
  expect(memory.tries).toBe(2);
});

test('if the store fails, loadState() restores the earlier conversation', async () => {
  class Failing extends InMemoryMemory {
    fails = false;
    override async append(...args: Parameters<InMemoryMemory['append']>): Promise<void> {
      if (this.fails && args[0].some(({ id }) => id === 'new')) throw new Error('full');
      return super.append(...args);
    }
  }
  const memory = new Failing();
  const { agent } = setUp(['hello', 'again'], memory);
  await agent.call('hi');
  const before = await saveState(agent);
  memory.fails = true;
  const messages = [
    { id: 'new', role: 'user', content: [], createdAt: '2026-01-01T00:00:00.000Z' },
  ];
  await expect(loadState(agent, { ...good, messages })).rejects.toThrow('full');
  expect(await saveState(agent)).toEqual(before);
});

test('saveState() and loadState() reject a busy agent', async () => {
  const { agent } = setUp([{ hang: true }]);
  const controller = new AbortController();
  const run = agent.call('go', { signal: controller.signal });
  await expect(saveState(agent)).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  await expect(loadState(agent, good)).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  controller.abort();
  expect((await run).reason).toBe('aborted');
});

/** Creates a memory whose first read waits until `letGo` is called. */
function heldMemory() {
  const memory = new InMemoryMemory();
  let letGo!: () => void;
  const held = new Promise<void>((resolve) => (letGo = resolve));
  let reads = 0;
  const slow: Memory = {
    append: (messages) => memory.append(messages),
    delete: (ids) => memory.delete(ids),
    clear: () => memory.clear(),
    async read() {
      if (reads++ === 0) await held;
      return memory.read();
    },
  };
  return { slow, letGo };
}

test('if a call begins during the read, saveState() and loadState() reject', async () => {
  for (const saves of [true, false]) {
    const { slow, letGo } = heldMemory();
    const { agent } = setUp([{ toolCalls: [{ name: 'pay', input: { sum: 5 } }] }], slow);
    const state = await saveState(setUp([]).agent);
    const acting = (saves ? saveState(agent) : loadState(agent, state)).catch(
      (error: unknown) => error,
    );
    await agent.call('Pay 5');
    letGo();
    expect(await acting).toMatchObject({ code: 'AGENT_BUSY' });
    expect(await agent.messages()).toHaveLength(2);
  }
});

test.each([1n, () => {}, Symbol('x'), undefined, null, { toJSON: 1 }])(
  'loadState() rejects the version %s',
  async (given) => {
    const { agent } = setUp([]);
    await expect(loadState(agent, { version: given })).rejects.toMatchObject({
      code: 'INVALID_STATE',
    });
  },
);

test('saveState() and loadState() reject a value that is not an agent', async () => {
  await expect(saveState(undefined as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await expect(loadState({} as never, {})).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('if every store operation fails, loadState() reports the first failure', async () => {
  const { agent } = setUp(['ok']);
  const state = await saveState(agent);
  let reads = 0;
  const broken: Memory = {
    append: async () => {},
    delete: async () => {},
    clear: () => Promise.reject(new Error('first')),
    read: () => (reads++ === 0 ? Promise.resolve([]) : Promise.reject(new Error('second'))),
  };
  const other = setUp([], broken);
  await expect(loadState(other.agent, state)).rejects.toThrow('first');
});
