import { expect, test } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import type { Decision } from '../event/pending-call.ts';
import { EchoMemory } from '../../../edge/src/kv/log/echo-memory.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { textOf } from '../message/msg.ts';
import { springAiAlibaba } from '@isoloop/presets';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { Toolkit } from '../tool/set/toolkit.ts';
import { approvals } from '../approval/approvals.ts';
import { listCheckpoints, returnToCheckpoint } from './checkpoints.ts';
import { replaceKey } from './state-key.ts';
import { stateKeys } from './state-keys.ts';

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const ran: unknown[] = [];
  const names = ['read', 'pay'];
  const tools = names.map((name) =>
    tool({
      name,
      description: '',
      input: { type: 'object' },
      execute: (input) => `${name} ${ran.push([name, input])}`,
    }),
  );
  const model = new ScriptedModel(replies);
  const use = [springAiAlibaba(), approvals({ needsApproval: { pay: true } })];
  const memory = new SessionMemory(new MemoryStore(), 's');
  const agent = new ReActAgent({ name: 'a', model, tools, use, memory, ...options });
  return { agent, model, ran };
}

const asks = (name: string, n = 1): ScriptedReply => ({
  toolCalls: [{ name, id: `${name}${n}`, input: { n } }],
});
const approve = (toolUseId: string): Decision => ({ toolUseId, type: 'approve' });
const textsOf = async (agent: ReActAgent): Promise<readonly string[]> =>
  (await agent.messages()).map((message) => textOf(message) || message.role);

test('listCheckpoints() lists a checkpoint after the input, after each reply and after each reply’s tool results', async () => {
  const { agent } = setUp([asks('read'), 'Done.', 'Again.']);
  await agent.call('go');
  await agent.call('again');
  const list = await listCheckpoints(agent);
  expect(
    list.map(({ message, messageCount, reason }) => [message.role, messageCount, reason]),
  ).toEqual([
    ['user', 1, undefined],
    ['assistant', 2, undefined],
    ['tool', 3, undefined],
    ['assistant', 4, 'stop'],
    ['user', 5, undefined],
    ['assistant', 6, 'stop'],
  ]);
  expect(new Set(list.map(({ id }) => id)).size).toBe(6);
  expect(JSON.parse(JSON.stringify(list))).toEqual(list);
});

test('returnToCheckpoint() returns to each checkpoint, and the next call continues from there', async () => {
  for (const [index, expected] of [
    ['go', 'New.'],
    ['go', 'assistant', 'tool', 'New.'],
    ['go', 'assistant', 'tool', 'New.'],
  ].entries()) {
    const { agent, model, ran } = setUp([asks('read'), 'Done.', 'Again.', 'New.']);
    await agent.call('go');
    await agent.call('again');
    const { id } = (await listCheckpoints(agent))[index]!;
    await returnToCheckpoint(agent, id);
    expect((await agent.call()).text).toBe('New.');
    expect(await textsOf(agent)).toEqual(expected);
    expect(historyFaults(await agent.messages())).toEqual([]);
    expect(requestFaults(model.requests.at(-1)!.messages)).toEqual([]);
    // After the return to the reply, its tool call is open again and runs a second time.
    expect(ran).toHaveLength(index === 1 ? 2 : 1);
  }
});

test('after the return to an answer, a new message begins the next call', async () => {
  const { agent, model } = setUp(['One.', 'Two.', 'Three.']);
  await agent.call('a');
  await agent.call('b');
  const answered = (await listCheckpoints(agent)).find(({ messageCount }) => messageCount === 2);
  await returnToCheckpoint(agent, answered!.id);
  expect(await textsOf(agent)).toEqual(['a', 'One.']);
  await expect(agent.call()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect((await agent.call('c')).text).toBe('Three.');
  expect(model.requests.at(-1)!.messages.map(textOf)).toEqual(['a', 'One.', 'c']);
});

test('after the return, a decision can be made again, and the tool call has its arguments from before the edit', async () => {
  const { agent, ran } = setUp([asks('pay'), 'Done.', 'Other.']);
  await agent.call('go');
  await agent.call([{ toolUseId: 'pay1', type: 'edit', input: { n: 5 } }]);
  const waiting = (await listCheckpoints(agent)).find(({ pending }) => pending.length);
  expect(waiting).toMatchObject({ reason: 'suspended', pending: [{ toolUseId: 'pay1' }] });
  await returnToCheckpoint(agent, waiting!.id);
  expect((await agent.call()).pending).toMatchObject([{ toolUseId: 'pay1', input: { n: 1 } }]);
  expect((await agent.call([approve('pay1')])).text).toBe('Other.');
  expect(ran).toEqual([
    ['pay', { n: 5 }],
    ['pay', { n: 1 }],
  ]);
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('a session with a pending tool call can return to a checkpoint before that tool call', async () => {
  const { agent } = setUp(['One.', asks('pay'), 'Two.']);
  await agent.call('a');
  await agent.call('b');
  const [, answered] = await listCheckpoints(agent);
  await returnToCheckpoint(agent, answered!.id);
  expect(agent.status.openRunId).toBeUndefined();
  expect((await agent.call('c')).text).toBe('Two.');
});

test('later checkpoints are kept, so that a session can go forward again', async () => {
  const { agent } = setUp(['One.', 'Two.', 'Three.']);
  await agent.call('a');
  await agent.call('b');
  const before = await listCheckpoints(agent);
  await returnToCheckpoint(agent, before[1]!.id);
  await agent.call('c');
  const after = await listCheckpoints(agent);
  expect(after.slice(0, before.length)).toEqual(before);
  await returnToCheckpoint(agent, before.at(-1)!.id);
  expect(await textsOf(agent)).toEqual(['a', 'One.', 'b', 'Two.']);
  await returnToCheckpoint(agent, after.at(-1)!.id);
  expect(await textsOf(agent)).toEqual(['a', 'One.', 'c', 'Three.']);
});

test('another process lists the same checkpoints and can return to them', async () => {
  const store = new MemoryStore();
  const open = (replies: readonly ScriptedReply[]): ReActAgent =>
    setUp(replies, { memory: new SessionMemory(store, 's') }).agent;
  const first = open([asks('pay'), 'Done.']);
  await first.call('go');
  await first.call([approve('pay1')]);
  const list = await listCheckpoints(first);
  const next = open(['Other.']);
  expect(await listCheckpoints(next)).toEqual(list);
  await returnToCheckpoint(next, list.find(({ pending }) => pending.length)!.id);
  const third = open(['Other.']);
  expect((await third.call([{ toolUseId: 'pay1', type: 'reject' }])).text).toBe('Other.');
  expect((await textsOf(open([]))).at(-1)).toBe('Other.');
});

test('the session’s values and active tool groups return too', async () => {
  const values = stateKeys({ city: replaceKey('Bern') });
  const groups = [{ name: 'more', description: '', active: false }];
  const { agent } = setUp(['One.', 'Two.'], { use: [values], tools: new Toolkit([], { groups }) });
  await agent.call('a');
  values.of(agent).write({ city: 'Wien' });
  agent.tools.setActiveGroups?.(['more']);
  await agent.call('b');
  const [, first] = await listCheckpoints(agent);
  const last = (await listCheckpoints(agent)).at(-1);
  await returnToCheckpoint(agent, first!.id);
  expect([values.of(agent).all(), agent.tools.activeGroups?.()]).toEqual([{ city: 'Bern' }, []]);
  await returnToCheckpoint(agent, last!.id);
  expect([values.of(agent).all(), agent.tools.activeGroups?.()]).toEqual([
    { city: 'Wien' },
    ['more'],
  ]);
});

test('a run that failed returns with its state at that time', async () => {
  const { agent } = setUp([{ error: new Error('down') }, 'Two.', 'Three.', 'Four.']);
  await expect(agent.call('a')).rejects.toThrow('down');
  const [failed] = await listCheckpoints(agent);
  expect(failed).toMatchObject({ reason: 'error' });
  await agent.call();
  await returnToCheckpoint(agent, failed!.id);
  expect((await agent.call()).text).toBe('Three.');
});

test('with `durability: turn`, each call is one checkpoint', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's', { durability: 'turn' });
  const { agent } = setUp([asks('read'), 'Done.', 'Two.', 'Three.'], { memory });
  await agent.call('a');
  await agent.call('b');
  const list = await listCheckpoints(agent);
  expect(list.map(({ messageCount }) => messageCount)).toEqual([4, 6]);
  await returnToCheckpoint(agent, list[0]!.id);
  expect((await agent.call('c')).text).toBe('Three.');
});

test('a compacted log has one checkpoint for all the records that it compacted', async () => {
  const store = new MemoryStore();
  const open = (text: string): ReActAgent =>
    setUp([text], { memory: new SessionMemory(store, 's', { compactAfter: 2 }) }).agent;
  await open('One.').call('a');
  const old = await listCheckpoints(open(''));
  const agent = open('Two.');
  await agent.call('b');
  const list = await listCheckpoints(open(''));
  expect(list.map(({ messageCount }) => messageCount)).toEqual([3, 4]);
  await expect(returnToCheckpoint(agent, old[0]!.id)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
});

test('an unknown checkpoint, a busy agent, and a memory without a log are rejected, and nothing changes', async () => {
  const { agent } = setUp(['One.', 'Two.']);
  expect(await listCheckpoints(agent)).toEqual([]);
  await agent.call('a');
  for (const id of ['', 'x', undefined, 5])
    await expect(returnToCheckpoint(agent, id as string)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  const [first] = await listCheckpoints(agent);
  const stream = agent.stream('b', { detached: true });
  await expect(returnToCheckpoint(agent, first!.id)).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  await stream.result;
  expect(await textsOf(agent)).toEqual(['a', 'One.', 'b', 'Two.']);
  const plain = setUp([], { memory: new InMemoryMemory() }).agent;
  await expect(listCheckpoints(plain)).rejects.toThrow('Checkpoints need a memory with a log');
  const late = new EchoMemory(new MemoryStore(), 's', { secrets: ['a'.repeat(32)] });
  await expect(listCheckpoints(setUp([], { memory: late }).agent)).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
  const remote = { messages: () => Promise.resolve([]), busy: false };
  await expect(listCheckpoints(remote as never)).rejects.toMatchObject({ code: 'CONFIGURATION' });
  await expect(listCheckpoints(null as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});
