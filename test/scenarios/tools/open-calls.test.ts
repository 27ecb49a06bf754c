import { expect, test } from 'vitest';
import {
  AgentError,
  InMemoryMemory,
  MemoryStore,
  type Memory,
  SessionMemory,
  assistantMessage,
  toolMessage,
  userMessage,
  toolResultsOf,
  type Msg,
  tool,
  type AgentOptions,
  ReActAgent,
  type Middleware,
} from '@isoloop/core';
import { approvals } from '@isoloop/core/approval';
import { springAiAlibaba } from '@isoloop/presets';
import { historyFaults } from '../../support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { toolResult } from '../../../packages/core/src/tool/tool-call.ts';
import { look, pay } from '../../support/plain-tools.ts';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const names = ['free', 'safe', 'asks', 'pay'] as const;

const transcript: readonly Msg[] = [
  userMessage('Go.'),
  assistantMessage(names.map((name) => ({ type: 'tool_use', id: name, name, input: {} }))),
];

function setUp(memory: Memory, use: AgentOptions['use'] = []) {
  const ran: string[] = [];
  const policies = { safe: { replay: 'safe' }, asks: { replay: 'ask' } } as const;
  const tools = names.map((name) =>
    tool({
      name,
      description: '',
      input: { type: 'object' },
      execute: () => `did ${ran.push(name)}`,
      ...(name === 'pay' && { needsApproval: true }),
      ...((name === 'safe' || name === 'asks') && policies[name]),
    }),
  );
  const round = names.map((name) => ({ name, id: name, input: {} }));
  const reply: ScriptedReply = ({ messages }) =>
    messages.some(({ role }) => role === 'assistant') ? 'Done.' : { toolCalls: round };
  const { agent, model } = scriptedAgent([reply, reply], { tools, memory, use });
  return { agent, model, ran };
}

/** A memory with only the four methods that every memory has. */
function plainMemory(messages: readonly Msg[]): Memory {
  const inner = new InMemoryMemory(messages);
  return {
    append: (more) => inner.append(more),
    read: () => inner.read(),
    delete: (ids) => inner.delete(ids),
    clear: () => inner.clear(),
  };
}

async function withNotes(): Promise<Memory> {
  const memory = new SessionMemory(new MemoryStore(), 's');
  await memory.append(transcript);
  return memory;
}

test.each<[string, () => Memory | Promise<Memory>, ran: string, pending: string]>([
  ['InMemoryMemory', () => new InMemoryMemory(transcript), 'safe', 'asks replay, pay approval'],
  ['a memory of four methods', () => plainMemory(transcript), 'safe', 'asks replay, pay approval'],
  [
    "InMemoryMemory with `unnotedCalls: 'run'`",
    () => new InMemoryMemory(transcript, { unnotedCalls: 'run' }),
    'free safe asks',
    'pay approval',
  ],
  ['SessionMemory', withNotes, 'free safe asks', 'pay approval'],
])('open tool calls of a transcript in %s', async (_, make, expected, waiting) => {
  const { agent, ran } = setUp(await make());
  const { reason, pending } = await agent.call();
  expect(reason).toBe('suspended');
  expect(ran.toSorted().join()).toBe(expected.split(' ').toSorted().join());
  expect(pending.map(({ name, kind }) => `${name} ${kind}`).join(', ')).toBe(waiting);
  const decisions = pending.map(({ toolUseId }) => ({ toolUseId, type: 'approve' }) as const);
  expect((await agent.call(decisions)).text).toBe('Done.');
  expect(new Set(ran).size).toBe(ran.length);
  expect(historyFaults(await agent.messages())).toEqual([]);
});

const deferring = [
  ['springAiAlibaba()', [springAiAlibaba()]],
  ['approvals()', [approvals({ deferRound: true })]],
] as const;

test.each(deferring)(
  '%s: a deferred round in a memory without notes waits again and then runs, in a new agent',
  async (_, use) => {
    const one = setUp(new InMemoryMemory(), use);
    expect((await one.agent.call('Go.')).pending).toMatchObject([{ toolUseId: 'pay' }]);
    const two = setUp(new InMemoryMemory(await one.agent.messages()), use);
    expect(await two.agent.call()).toMatchObject({
      reason: 'suspended',
      pending: [{ toolUseId: 'pay', kind: 'approval' }],
    });
    expect((await two.agent.call([{ toolUseId: 'pay', type: 'approve' }])).text).toBe('Done.');
    expect(two.ran).toHaveLength(4);
    expect(one.ran).toEqual([]);
  },
);

test.each(deferring)(
  '%s: a new agent that begins with the decision runs the deferred round once',
  async (_, use) => {
    const one = setUp(new InMemoryMemory(), use);
    await one.agent.call('Go.');
    const two = setUp(new InMemoryMemory(await one.agent.messages()), use);
    expect((await two.agent.call([{ toolUseId: 'pay', type: 'approve' }])).text).toBe('Done.');
    expect(two.ran.toSorted()).toEqual(names.toSorted());
    const states = (await two.agent.messages()).flatMap(toolResultsOf).map(({ state }) => state);
    expect(states).toEqual(['success', 'success', 'success', 'success']);
  },
);

test.each([
  ['a result, so its tools may have started and do not run', 'success', 'interrupted', ['pay']],
  ['only a rejection, so its tools run after the decision', 'denied', 'success', ['free', 'pay']],
] as const)(
  'a deferred round in a memory without notes has %s',
  async (_, state, expected, runs) => {
    const known = { toolUseId: 'known', name: 'free', output: 'known', state };
    const memory = new InMemoryMemory([
      userMessage('Go.'),
      assistantMessage([
        { type: 'tool_use', id: 'known', name: 'free', input: {} },
        { type: 'tool_use', id: 'free', name: 'free', input: {} },
        { type: 'tool_use', id: 'pay', name: 'pay', input: {} },
      ]),
      toolMessage({ type: 'tool_result', ...known }),
    ]);
    const { agent, ran } = setUp(memory, [approvals({ deferRound: true })]);
    expect((await agent.call()).pending).toMatchObject([{ toolUseId: 'pay', kind: 'approval' }]);
    await agent.call([{ toolUseId: 'pay', type: 'approve' }]);
    expect(ran).toEqual(runs);
    const results = (await agent.messages()).flatMap(toolResultsOf);
    expect(results.find(({ toolUseId }) => toolUseId === 'free')?.state).toBe(expected);
  },
);

test("with `unnotedCalls: 'run'`, a second agent does not run a tool that the first one started", async () => {
  let starts = 0;
  const fails = tool({
    name: 'fails',
    description: '',
    input: {},
    execute: () => {
      starts += 1;
      throw new AgentError('TOOL_ERROR', 'The host is down.');
    },
  });
  const call = { type: 'tool_use', id: '1', name: 'fails', input: {} } as const;
  const messages = [userMessage('Go.'), assistantMessage([call])];
  const memory = new InMemoryMemory(messages, { unnotedCalls: 'run' });
  const model = new ScriptedModel(['Done.']);
  const [one, two] = ['a', 'b'].map(
    (name) => new ReActAgent({ name, model, memory, tools: [fails] }),
  );
  await expect(one!.call()).rejects.toMatchObject({ code: 'TOOL_ERROR' });
  expect((await two!.call()).text).toBe('Done.');
  expect(starts).toBe(1);
  const results = (await memory.read()).flatMap(toolResultsOf);
  expect(results).toMatchObject([{ toolUseId: '1', output: 'Error: The host is down.' }]);
});

test("with `unnotedCalls: 'run'`, the tool calls still run after a call that failed before it read them", async () => {
  const { agent, ran } = setUp(new InMemoryMemory(transcript, { unnotedCalls: 'run' }));
  await expect(agent.call('Go on.')).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS' });
  expect((await agent.call()).reason).toBe('suspended');
  expect(ran.toSorted()).toEqual(['asks', 'free', 'safe']);
});

test('observe() refuses a message whose tool call has no result', async () => {
  const one = setUp(new InMemoryMemory());
  const { message } = await one.agent.call('Go.');
  const two = setUp(new InMemoryMemory());
  await expect(two.agent.observe(message)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('needs a result after it'),
  });
  expect(await two.agent.messages()).toEqual([]);
});

test('an abort before the run has begun in the log leaves the pending calls open', async () => {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'pay', id: 'c1' }] }], { tools: [pay] });
  await agent.call('go');
  const controller = new AbortController();
  const hang = (): Promise<void> => {
    controller.abort();
    return new Promise(() => {});
  };
  agent.addHook({ on: { 'pre-call': hang } });
  const approval = [{ toolUseId: 'c1', type: 'approve' }] as const;
  const result = await agent.call(approval, { signal: controller.signal });
  expect(result).toMatchObject({ reason: 'aborted', pending: [{ toolUseId: 'c1' }] });
  expect((await agent.messages()).at(-1)).toMatchObject({ role: 'assistant' });
});

test('a `wrapSettle` that stores the input itself has begun the run: calls without a result are closed', async () => {
  const own: Middleware = {
    wrapSettle: async (input, _next, run) => {
      await run.log.edit({ append: input.messages });
      return { to: 'model' };
    },
    wrapRound: async () => ({ to: 'model' }),
  };
  const { agent, model } = scriptedAgent([{ toolCalls: [{ name: 'look', id: 'c1' }] }, 'Done.'], {
    tools: [look],
    use: [own],
  });
  expect((await agent.call('go')).text).toBe('Done.');
  expect(model.requests[1]!.messages.at(-1)).toMatchObject({ role: 'tool' });
});

test('a `wrapSettle` that closes one of two calls does not let a message pass over the other', async () => {
  const closing: Middleware = {
    wrapSettle: (input, next, run) => {
      const [call] = run.calls.open;
      if (!call) return next(input);
      // The result of an earlier call gets the id of this one.
      const result = toolResult({ ...call.toolUse, id: 'old' }, 'x', 'success');
      return next({ ...input, closes: [{ toolUse: call.toolUse, result }] });
    },
  };
  const toolCalls = ['c1', 'c2'].map((id) => ({ name: 'look', id }));
  const { agent } = scriptedAgent([{ toolCalls }, 'Done.'], { tools: [look], use: [closing] });
  const remove = agent.addHook({ on: { 'pre-acting': (event) => event.stop() } });
  await agent.call('go');
  remove();
  await expect(agent.call('next')).rejects.toMatchObject({
    code: 'PENDING_TOOL_CALLS',
    details: { ids: ['c2'] },
  });
  expect((await agent.messages()).flatMap(toolResultsOf)).toEqual([]);
});
