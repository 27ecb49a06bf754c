import { expect, test } from 'vitest';
import { createMessage, type Msg } from '../message/msg.ts';
import { listSessions } from './list-sessions.ts';
import { MemoryStore } from './store/memory-store.ts';
import { SessionMemory } from './session-memory.ts';

/** A store that counts the values that are read. */
class CountingStore extends MemoryStore {
  reads = 0;

  override get(key: string): Promise<string | undefined> {
    this.reads += 1;
    return super.get(key);
  }

  override getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    this.reads += keys.length;
    return super.getMany(keys);
  }
}

const user = (id: string): Msg => createMessage('user', id, { id });
const idsOf = async (memory: SessionMemory): Promise<readonly string[]> =>
  (await memory.read()).map(({ id }) => id);

test('`unload` drops all records from memory, and the next read gets them from the store', async () => {
  const store = new CountingStore();
  const memory = new SessionMemory(store, 's');
  for (const id of ['a', 'b', 'c']) await memory.append([user(id)]);
  store.reads = 0;
  expect([await idsOf(memory), store.reads]).toEqual([['a', 'b', 'c'], 0]);
  await memory.unload();
  // The head and three batches.
  expect([await idsOf(memory), store.reads]).toEqual([['a', 'b', 'c'], 4]);
  expect([await idsOf(memory), store.reads]).toEqual([['a', 'b', 'c'], 4]);
});

test('`unload` keeps a session with no more messages than `above`', async () => {
  const store = new CountingStore();
  const memory = new SessionMemory(store, 's');
  for (const id of ['a', 'b']) await memory.append([user(id)]);
  store.reads = 0;
  await memory.unload({ above: 2 });
  expect([(await memory.read()).length, store.reads]).toEqual([2, 0]);
  await memory.unload({ above: 1 });
  expect([(await memory.read()).length, store.reads]).toEqual([2, 3]);
});

test('`unload` keeps messages that are not stored yet, and the title and values of the session', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's', { compactAfter: 2 });
  await memory.append([user('a')]);
  await memory.rename('Trip');
  await memory.append([user('b')], { later: true });
  await memory.unload();
  memory.state['city'] = 'Rome';
  await memory.append([user('c')]);
  await memory.unload();
  await memory.append([user('d')]);
  await memory.unload();
  await memory.unload();
  expect(await idsOf(memory)).toEqual(['a', 'b', 'c', 'd']);
  const other = new SessionMemory(store, 's');
  expect([await idsOf(other), other.state]).toEqual([['a', 'b', 'c', 'd'], { city: 'Rome' }]);
  expect(await listSessions(store)).toMatchObject([{ sessionId: 's', title: 'Trip' }]);
});
