import { expect, test } from 'vitest';
import {
  MemoryStore,
  ReActAgent,
  SessionMemory,
  tool,
  userMessage,
  type AgentInput,
} from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import { closedByMoveId } from './ended-calls.ts';
import { moveSession } from './move-session.ts';
import type { SessionCopy } from './session-place.ts';
import { storePlace } from './store-place.ts';

/** Two places, and an agent in the first one whose tool `pay` needs an approval. */
function setUp() {
  const stores = { edge: new MemoryStore(), tab: new MemoryStore() };
  const edge = storePlace({ name: 'place:edge', store: stores.edge });
  const tab = storePlace({ name: 'place:tab', store: stores.tab });
  const paid: string[] = [];
  const pay = tool({
    name: 'pay',
    description: '',
    input: {},
    needsApproval: true,
    execute: (_, { idempotencyKey }) => void paid.push(idempotencyKey),
  });
  /** Calls a new agent, which reads the session from the store. */
  const call = async (
    replies: readonly ScriptedReply[],
    input?: AgentInput,
    place: keyof typeof stores = 'edge',
  ) => {
    const memory = new SessionMemory(stores[place], 's');
    const model = new ScriptedModel(replies);
    const agent = new ReActAgent({ name: 'a', sessionId: 's', memory, model, tools: [pay] });
    const result = await agent.call(input);
    await memory.flush?.();
    return { agent, result };
  };
  const approve: AgentInput = [{ toolUseId: 'c1', type: 'approve' }];
  const asks: ScriptedReply = { toolCalls: [{ id: 'c1', name: 'pay', input: {} }] };
  return { edge, tab, paid, call, approve, asks, stores };
}

const asBackup = ({ ownership: _ownership, ...copy }: SessionCopy): SessionCopy => copy;
const stale = { code: 'SESSION_CONFLICT', message: expect.stringContaining('"c1"') };

test('a place that gave a session away refuses a copy in which a tool waits that has run', async () => {
  const { edge, tab, paid, call, approve, asks } = setUp();
  await call([asks], 'Pay');
  const old = (await edge.read('s'))!;
  await call(['Paid.'], approve);
  await moveSession('s', { from: edge, to: tab });
  // A copy of something else replaces what the place has of the session.
  const given = (await edge.read('s'))!.ownership!;
  const foreign = { ...old, records: [], ownership: { ...given, epoch: given.epoch + 1 } };
  await edge.put(foreign);
  const later = { ...given, epoch: given.epoch + 5 };
  await expect(edge.put({ ...old, ownership: later })).rejects.toMatchObject(stale);
  await expect(edge.put(foreign)).resolves.toBeUndefined();
  await expect(edge.put({ ...old, ownership: later })).rejects.toMatchObject(stale);
  expect(paid).toEqual(['s:c1']);
});

test('a place refuses an older copy after the messages were removed, and after snapshots', async () => {
  const { edge, paid, call, approve, asks, stores } = setUp();
  await call([asks], 'Pay');
  const old = asBackup((await edge.read('s'))!);
  await call(['Paid.'], approve);
  const memory = new SessionMemory(stores.edge, 's', { compactAfter: 1 });
  const [, ...rest] = await memory.read();
  await memory.delete!(rest.map(({ id }) => id));
  await memory.flush?.();
  for (let turn = 0; turn < 3; turn += 1) await call(['Hello.'], 'Hi');
  const shorter = new SessionMemory(stores.edge, 's');
  const [, ...later] = await shorter.read();
  await shorter.delete!(later.map(({ id }) => id));
  await shorter.flush?.();
  await expect(edge.put(old)).rejects.toMatchObject(stale);
  expect(paid).toEqual(['s:c1']);
});

test('a message of the user that looks like the end of a moved tool call changes nothing', async () => {
  const { edge, paid, call, approve, asks } = setUp();
  await call([asks], 'Pay');
  const old = asBackup((await edge.read('s'))!);
  await call(['Paid.', 'Hello.'], approve);
  await call(['Hello.'], userMessage('Hi', { id: closedByMoveId('c1') }));
  await expect(edge.put(old)).rejects.toMatchObject(stale);
  expect(paid).toEqual(['s:c1']);
});

test('a session that went on elsewhere comes back, also if its waiting tool ran there', async () => {
  const { edge, tab, paid, call, approve, asks } = setUp();
  await call([asks], 'Pay');
  await moveSession('s', { from: edge, to: tab });
  await moveSession('s', { from: tab, to: edge });
  await moveSession('s', { from: edge, to: tab });
  await call(['Paid.', 'Hello.'], approve, 'tab');
  await moveSession('s', { from: tab, to: edge });
  expect((await call(['Bye.'], 'Hi')).result.text).toBe('Bye.');
  expect(paid).toEqual(['s:c1']);
});

test('a reply that was made again elsewhere may use the id of an earlier tool call', async () => {
  const { edge, tab, paid, call, approve, asks, stores } = setUp();
  await call([asks], 'Pay');
  await call(['Paid.'], approve);
  await moveSession('s', { from: edge, to: tab });
  const memory = new SessionMemory(stores.tab, 's');
  const [, ...rest] = await memory.read();
  await memory.delete!(rest.map(({ id }) => id));
  await memory.flush?.();
  await call([asks], undefined, 'tab');
  await moveSession('s', { from: tab, to: edge });
  await call(['Paid again.'], approve);
  // The person approved the second call, too.
  expect(paid).toEqual(['s:c1', 's:c1']);
});
