import { expect, test } from 'vitest';
import { assistantMessage, toolMessage, userMessage, type Msg } from '../../message/msg.ts';
import type { LogNote } from './log-record.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { SessionMemory } from '../session-memory.ts';

const asks = (...ids: readonly string[]): Msg =>
  assistantMessage(
    ids.map((id) => ({ type: 'tool_use', id, name: 'pay', input: {} }) as const),
    { id: `asks ${ids.join()}` },
  );
const result = (toolUseId: string): Msg =>
  toolMessage(
    { type: 'tool_result', toolUseId, name: 'pay', output: 'ok', state: 'success' },
    { id: `result ${toolUseId}` },
  );

test('another memory reads the state of runs and tool calls from notes, also after a snapshot', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's', { compactAfter: 1 });
  const reopened = async () => new SessionMemory(store, 's', { compactAfter: 1 }).view();
  await memory.note([{ kind: 'run-begin', runId: 'r1' }]);
  expect(await store.keys('')).toEqual([]);
  await memory.append([userMessage('Pay.', { id: 'q' }), asks('a', 'b', 'c', 'd', 'e')]);
  expect(await reopened()).toMatchObject({ openRunId: 'r1', endReason: undefined });

  const edited = { type: 'tool_use', id: 'a', name: 'pay', input: { n: 1 } } as const;
  const notes: readonly LogNote[] = [
    { kind: 'call-started', toolUseId: 'a', toolUse: edited },
    {
      kind: 'suspended',
      calls: [{ pending: { toolUseId: 'b', name: 'pay', input: {}, kind: 'approval' } }],
    },
    { kind: 'decision', decision: { toolUseId: 'c', type: 'approve' } },
    { kind: 'decision', decision: { toolUseId: 'd', type: 'approve' } },
    { kind: 'call-started', toolUseId: 'd' },
    { kind: 'call-started', toolUseId: 'unknown' },
    { kind: 'decision', decision: { toolUseId: 'e', type: 'approve' } },
    { kind: 'call-started', toolUseId: 'e' },
    {
      kind: 'suspended',
      calls: [{ pending: { toolUseId: 'e', name: 'pay', input: {}, kind: 'suspended' } }],
    },
    { kind: 'state', state: { todos: ['one'], gone: 1 } },
    { kind: 'state', state: { gone: null } },
    { kind: 'summary', firstId: 'q', lastId: 'q', count: 1, text: 'short' },
    { kind: 'run-end', runId: 'r1', reason: 'suspended' },
  ];
  await memory.note(notes);
  await memory.flush();
  const calls = new Map<string, object>([
    ['a', { toolUse: edited, started: true }],
    [
      'b',
      { pending: { toolUseId: 'b', name: 'pay', input: {}, kind: 'approval' }, started: false },
    ],
    ['c', { decision: { toolUseId: 'c', type: 'approve' } }],
    ['d', { approved: true, started: true }],
    [
      'e',
      {
        approved: true,
        pending: { toolUseId: 'e', name: 'pay', input: {}, kind: 'suspended' },
        started: false,
      },
    ],
  ]);
  const expected = {
    openRunId: 'r1',
    endReason: 'suspended',
    state: { todos: ['one'] },
    calls,
    summary: notes[11],
  };
  expect(await memory.view()).toMatchObject(expected);
  expect(await reopened()).toMatchObject(expected);

  const other = new SessionMemory(store, 's', { compactAfter: 1 });
  await other.append([result('a')]);
  expect((await store.keys('s:s:r:')).length).toBe(1);
  calls.delete('a');
  expect((await reopened()).calls).toEqual(calls);
  expect(await reopened()).toMatchObject({ ...expected, calls });

  await other.delete(['result a']);
  expect((await reopened()).calls.get('a')).toEqual({ started: true });
  await other.delete(['q', 'asks a,b,c,d,e']);
  expect(await reopened()).toMatchObject({ messages: [], calls: new Map(), summary: undefined });
});

test('a run that has ended without open tool calls is not an open run', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  for (const [reason, openRunId] of [
    ['stop', undefined],
    ['error', 'r'],
    ['suspended', 'r'],
    ['interrupted', undefined],
  ] as const) {
    await memory.note([
      { kind: 'run-begin', runId: 'r' },
      { kind: 'run-end', runId: 'r', reason },
    ]);
    expect(await memory.view()).toMatchObject({ endReason: reason });
    expect((await memory.view()).openRunId).toBe(openRunId);
  }
});
