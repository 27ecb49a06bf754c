import { expect, test } from 'vitest';
import { assistantMessage, userMessage, type Msg } from '../../message/msg.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { listSessions } from '../list-sessions.ts';
import { adoptRecords } from './adopt-records.ts';
import { SessionMemory } from '../session-memory.ts';

const asks = (...ids: readonly string[]): Msg =>
  assistantMessage(
    ids.map((id) => ({ type: 'tool_use', id, name: 'pay', input: {} }) as const),
    { id: `asks ${ids.join()}` },
  );

test('adoptRecords() copies messages, open tool calls, summary and title of another session', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 'one');
  await memory.append([userMessage('hi', { id: 'u' }), asks('a')]);
  await memory.note([
    { kind: 'run-begin', runId: 'r' },
    {
      kind: 'suspended',
      calls: [{ pending: { toolUseId: 'a', name: 'pay', input: {}, kind: 'approval' } }],
    },
    { kind: 'summary', firstId: 'u', lastId: 'u', count: 1, text: 'greeting' },
  ]);
  await memory.rename('Greeting');
  const records = await memory.records();
  await adoptRecords(new SessionMemory(store, 'two'), JSON.parse(JSON.stringify(records)));
  const [one, two] = [
    await new SessionMemory(store, 'one').view(),
    await new SessionMemory(store, 'two').view(),
  ];
  expect({ ...two, writerId: undefined }).toEqual({ ...one, writerId: undefined });
  expect((await listSessions(store)).map(({ title }) => title)).toEqual(['Greeting', 'Greeting']);
});

test.for([
  ['an unknown record', [{ kind: 'spell' }]],
  ['an invalid message', [{ kind: 'message', message: {} }]],
  ['a value that is not an array', {}],
] as const)(
  'adoptRecords() rejects %s, and it rejects all records if the session has messages',
  async ([, records]) => {
    const memory = new SessionMemory(new MemoryStore(), 's');
    const refused = { code: 'INVALID_STATE' };
    await expect(adoptRecords(memory, records as never)).rejects.toMatchObject(refused);
    await memory.append([userMessage('hi')]);
    await expect(adoptRecords(memory, [])).rejects.toMatchObject(refused);
    expect(await memory.records()).toHaveLength(1);
  },
);
