import { expect, test } from 'vitest';
import { message } from '@test/support/messages.ts';
import { MemoryStore } from './store/memory-store.ts';
import { listSessions } from './list-sessions.ts';
import { SessionMemory } from './session-memory.ts';

test('listSessions() returns titles and times, and times never decrease if the clock is set back', async () => {
  const store = new MemoryStore();
  let time = 100;
  const open = (id: string): SessionMemory => new SessionMemory(store, id, { now: () => time });
  await open('ann/b 会话').append([message('1')]);
  time = 50;
  await open('ann/b 会话').append([message('2')]);
  await open('ann/a').rename('Weather 天気');
  await open('bob/c').append([message('1')]);
  await store.set('s:ann%2Fx:head', '{"v":99}');
  await store.set('summary:x', '1');
  const ann = await listSessions(store, { startsWith: 'ann/' });
  expect(ann).toEqual([
    { sessionId: 'ann/a', title: 'Weather 天気', createdAt: 50, updatedAt: 50, version: 1 },
    { sessionId: 'ann/b 会话', createdAt: 100, updatedAt: 100, version: 2 },
    { sessionId: 'ann/x', createdAt: 0, updatedAt: 0, version: -1 },
  ]);
  expect((await listSessions(store)).map(({ sessionId }) => sessionId)).toEqual([
    'ann/a',
    'ann/b 会话',
    'ann/x',
    'bob/c',
  ]);
  await open('ann/a').append([message('1')]);
  expect((await listSessions(store, { startsWith: 'ann/a' }))[0]?.title).toBe('Weather 天気');
  await open('ann/a').rename('');
  expect((await listSessions(store, { startsWith: 'ann/a' }))[0]?.title).toBeUndefined();
});
