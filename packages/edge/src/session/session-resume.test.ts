import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { SessionMemory, tool } from '@isoloop/core';
import type { Msg } from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import { expect, test, vi } from 'vitest';
import * as z from 'zod';
import { DurableStore } from '../store/durable-store.ts';
import { ask, open, textOf, type Session } from '../../test-support/session-client.ts';
import type { SessionTurn } from './session-turn.ts';
import { TurnQueue } from './turn-queue.ts';

// An isolate that dies just before a turn's run begins, or just behind its end: the turn is queued
// still, and the log has no open run.

const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: z.object({}),
  needsApproval: true,
  execute: () => 'paid',
});

const message = (text: string): Msg => ({
  id: `id-${text}`,
  role: 'user',
  content: [{ type: 'text', text }],
  createdAt: '2026-01-01T00:00:00.000Z',
});

/**
 * Leaves a turn as an isolate does that died after the turn had begun, and has another one find it.
 */
async function die(
  session: Session,
  turn: SessionTurn,
  change: (memory: SessionMemory) => Promise<void> = async () => {},
): Promise<void> {
  await evictDurableObject(session.stub);
  await runInDurableObject(session.stub, async (_, { storage }) => {
    await change(new SessionMemory(new DurableStore(storage), session.id));
    const queue = new TurnQueue(storage);
    const { id } = queue.add({ turn, model: 'offline', messageId: 'm', requestId: 'r' });
    queue.attempt(id);
    queue.begin(id);
    await storage.setAlarm(Date.now() + 60_000);
  });
  await evictDurableObject(session.stub);
  expect(await runDurableObjectAlarm(session.stub)).toBe(true);
  const waiting = (): Promise<number> =>
    runInDurableObject(session.stub, (_, { storage }) => new TurnQueue(storage).size);
  await expect.poll(waiting).toBe(0);
}

const texts = async (session: Session): Promise<string[]> => (await session.messages()).map(textOf);

const rows: readonly (readonly [what: string, turn: SessionTurn, shown: readonly string[]])[] = [
  [
    'a chat whose message is not in the log is begun',
    { kind: 'message', message: message('B') },
    ['A', 'One.', 'B', 'Two.'],
  ],
  [
    'messages that are not in the log are taken in',
    { kind: 'messages', messages: [message('B')] },
    ['A', 'One.', 'B', 'Two.'],
  ],
  ['a chat that was answered is over', { kind: 'message', message: message('A') }, ['A', 'One.']],
  [
    'messages that were answered are over',
    { kind: 'messages', messages: [message('A')] },
    ['A', 'One.'],
  ],
  ['another answer that was given is not given again', { kind: 'regenerate' }, ['A', 'One.']],
  ['what was to go on from the log has gone on', { kind: 'continue' }, ['A', 'One.']],
  [
    'what was decided is decided',
    { kind: 'decide', decisions: [{ type: 'approve', toolUseId: 'c1' }] },
    ['A', 'One.'],
  ],
];

test.each(rows)('%s', async (_, turn, shown) => {
  const session = open(['One.', 'Two.', 'Three.']);
  await session.chat([ask('A', 'id-A')]);
  await die(session, turn);
  expect(await texts(session)).toEqual(shown);
  expect(session.script.model.requests.length).toBe(shown.length / 2);
});

test('messages that begin a session are taken in as they would have been', async () => {
  const session = open(['One.', 'Two.', 'Three.']);
  await session.chat([ask('A')]);
  const system: Msg = { ...message('Obey me.'), role: 'system' };
  await die(session, { kind: 'messages', messages: [system, message('B')] });
  expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.']);
});

test('another answer is given where the first one was cut out already', async () => {
  const session = open(['One.', 'Two.', 'Three.']);
  await session.chat([ask('A')]);
  await die(session, { kind: 'regenerate' }, async (memory) => {
    const answers = (await memory.read()).filter(({ role }) => role === 'assistant');
    await memory.delete(answers.map(({ id }) => id));
  });
  expect(await texts(session)).toEqual(['A', 'Two.']);
});

const approve = { type: 'approve', toolUseId: 'c1' } as const;
const result = { type: 'result', toolUseId: 'c0', output: '12:00' } as const;

test.each<[string, SessionTurn]>([
  ['a run', { kind: 'decide', decisions: [approve] }],
  // A chat tells the results of finished calls along.
  ['a chat', { kind: 'decisions', decisions: [result, approve], messageId: 'm' }],
])('what %s decided is taken where the call waits still, and once', async (_, turn) => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const pays: ScriptedReply = { toolCalls: [{ id: 'c1', name: 'pay' }] };
  const session = open([{ toolCalls: [{ id: 'c0', name: 'clock' }] }, pays, 'Paid.', 'Never.'], {
    tools: [pay],
  });
  await session.chat([ask('Pay')]);
  await die(session, turn);
  expect(await texts(session)).toEqual(['Pay', 'Paid.']);
  await die(session, turn);
  expect(await texts(session)).toEqual(['Pay', 'Paid.']);
  expect(session.script.model.requests.length).toBe(3);
  log.mockRestore();
});
