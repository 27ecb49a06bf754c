import { expect, test } from 'vitest';
import type { Middleware } from '../../agent/middleware.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { createMessage, textOf } from '../../message/msg.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { SessionMemory } from '../session-memory.ts';

/** A store that counts the writes of the log: one for each new head. */
class CountingStore extends MemoryStore {
  writes = 0;

  override compareAndSet(...given: Parameters<MemoryStore['compareAndSet']>): Promise<boolean> {
    this.writes += 1;
    return super.compareAndSet(...given);
  }
}

const stored = (store: MemoryStore): Promise<readonly string[]> =>
  new SessionMemory(store, 's').read().then((messages) => messages.map(({ id }) => id));

test('messages that are appended with `later` are stored in order with the next write', async () => {
  const store = new CountingStore();
  const memory = new SessionMemory(store, 's');
  await memory.append([createMessage('user', 'A', { id: 'a' })], { later: true });
  expect([await stored(store), (await memory.read()).length, store.writes]).toEqual([[], 1, 0]);
  await memory.append([createMessage('assistant', 'B', { id: 'b' })]);
  expect([await stored(store), store.writes]).toEqual([['a', 'b'], 1]);
  await memory.append([createMessage('user', 'C', { id: 'c' })], { later: true });
  await memory.flush();
  expect([await stored(store), store.writes]).toEqual([['a', 'b', 'c'], 2]);
});

test('an invalid message that is appended with `later` is refused at once', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const message = { ...createMessage('user', 'A'), role: 'robot' } as never;
  await expect(memory.append([message], { later: true })).rejects.toMatchObject({
    code: 'INVALID_MESSAGE',
  });
  expect(await memory.read()).toEqual([]);
});

test('an agent call stores its answer and its end in one write', async () => {
  const store = new CountingStore();
  const memory = new SessionMemory(store, 's');
  const agent = new ReActAgent({ name: 'a', memory, model: new ScriptedModel(['Hi.', 'Well.']) });
  for (const writes of [2, 4]) {
    await agent.call('Hello');
    expect(store.writes).toBe(writes);
    const { openRunId, endReason } = await new SessionMemory(store, 's').view();
    expect([openRunId, endReason]).toEqual([undefined, 'stop']);
  }
});

test('an input that the caller has stored is in the log with the next write of its run', async () => {
  const store = new CountingStore();
  const memory = new SessionMemory(store, 's');
  const model = new ScriptedModel(['Hi.', 'Well.']);
  const agent = new ReActAgent({ name: 'a', memory, model });
  await agent.call('Hello', { inputStored: true });
  expect([(await stored(store)).length, store.writes]).toEqual([2, 1]);
  await agent.call('And now?', { inputStored: false });
  expect([(await stored(store)).length, store.writes]).toEqual([4, 3]);
});

test('if the write of the answer fails, the call fails, and the next write stores the answer', async () => {
  const store = new CountingStore();
  const memory = new SessionMemory(store, 's');
  const agent = new ReActAgent({ name: 'a', memory, model: new ScriptedModel(['Hi.']) });
  const { setMany } = store;
  let writes = 0;
  store.setMany = (entries) => {
    writes += 1;
    return writes > 1 ? Promise.reject(new Error('full')) : setMany.call(store, entries);
  };
  await expect(agent.call('Hello')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect((await stored(store)).length).toBe(1);
  store.setMany = setMany;
  await memory.flush();
  expect((await stored(store)).length).toBe(2);
  expect((await new SessionMemory(store, 's').view()).endReason).toBe('stop');
});

test('a message that is deleted with `later` comes back if the next run is refused', async () => {
  const store = new CountingStore();
  const memory = new SessionMemory(store, 's');
  let isClosed = false;
  const guard: Middleware = {
    wrapInput: async (input, next) => {
      if (isClosed) throw new Error('The guard is down.');
      return next(input);
    },
  };
  const { agent } = scriptedAgent(['Hi.', 'New.'], { memory, use: [guard] });
  await agent.call('Hello');
  const [question, answer] = await memory.read();
  const { writes } = store;
  isClosed = true;
  await memory.delete([answer!.id], { later: true });
  expect([await memory.read(), store.writes]).toEqual([[question], writes]);
  await expect(agent.call()).rejects.toThrow('The guard is down.');
  expect([await memory.read(), store.writes]).toEqual([[question, answer], writes]);
  isClosed = false;
  await memory.delete([answer!.id], { later: true });
  expect((await agent.call()).text).toBe('New.');
  expect((await memory.read()).map(textOf)).toEqual(['Hello', 'New.']);
  expect(await stored(store)).toEqual((await memory.read()).map(({ id }) => id));
});

test('a message that is deleted with `later` is removed from the store with a flush', async () => {
  const store = new CountingStore();
  const memory = new SessionMemory(store, 's');
  await memory.append([createMessage('user', 'A', { id: 'a' })]);
  await memory.delete(['a'], { later: true });
  expect([await stored(store), store.writes]).toEqual([['a'], 1]);
  await memory.flush();
  expect([await stored(store), store.writes]).toEqual([[], 2]);
});
