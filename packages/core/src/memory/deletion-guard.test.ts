import { expect, test } from 'vitest';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { userMessage } from '../message/msg.ts';
import { tool } from '../tool/tool.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { listSessions } from './list-sessions.ts';
import { SessionMemory } from './session-memory.ts';
import { MemoryStore } from './store/memory-store.ts';

/** Moments of a run at which another program deletes its session. */
const moments = ['model', 'tool', 'title'] as const;

test.for(moments)('a run whose session is deleted (%s) writes nothing again', async (moment) => {
  const store = new MemoryStore();
  const remove = (): Promise<void> => new SessionMemory(store, 's').clear();
  const look = tool({
    name: 'look',
    description: 'Looks',
    input: { type: 'object' },
    execute: async () => {
      if (moment === 'tool') await remove();
      return 'seen';
    },
  });
  const memory = new SessionMemory(store, 's');
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'look' }] },
    () => ({ text: 'secret', ...(moment === 'model' && { wait: remove() }) }),
    'A new answer.',
  ]);
  const agent = new ReActAgent({ name: 'a', model, memory, tools: [look] });
  agent.addHook({
    on: {
      'post-acting': async () => {
        if (moment !== 'title') return;
        await remove();
        await memory.rename('My secret').catch(() => {});
      },
    },
  });
  const result = await agent.call('hi').catch((error: unknown) => error);
  expect(JSON.stringify(result)).toContain('SESSION_DELETED');
  expect(await store.keys('')).toEqual([]);
  expect(await listSessions(store)).toEqual([]);
  expect(await agent.messages()).toEqual([]);

  // A new message of a person begins a new conversation.
  if (moment === 'model') {
    await agent.call('hello again');
    const texts = (await new SessionMemory(store, 's').read()).map(({ role }) => role);
    expect(texts).toEqual(['user', 'assistant']);
  }
});

test('a session that is deleted while a run begins a second log stays deleted for the first run', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  const other = new SessionMemory(store, 's');
  const replace = async (): Promise<void> => {
    await other.clear();
    await other.append([userMessage('new')]);
  };
  const model = new ScriptedModel([() => ({ wait: replace(), text: 'old secret' })]);
  const agent = new ReActAgent({ name: 'a', model, memory });
  await agent.call('hi').catch(() => {});
  const stored = JSON.stringify(await new SessionMemory(store, 's').read());
  expect(stored).toContain('new');
  expect(stored).not.toContain('secret');
});

/** Returns a memory whose session is deleted during a run that has ended. */
async function afterDeletion(remove: (memory: SessionMemory, store: MemoryStore) => Promise<void>) {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  const execute = async (): Promise<string> => {
    await remove(memory, store);
    return 'seen';
  };
  const look = tool({ name: 'look', description: 'Looks', input: { type: 'object' }, execute });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'secret']);
  const agent = new ReActAgent({ name: 'a', model, memory, tools: [look] });
  const { error } = await agent.call('hi', { throwOnError: false });
  expect(error?.code).toBe('SESSION_DELETED');
  return { store, memory };
}

test.for([
  [
    'the store',
    async (_memory: SessionMemory, store: MemoryStore) => store.delete(await store.keys('')),
  ],
  ['the same memory', (memory: SessionMemory) => memory.clear()],
] as const)(
  'after a run whose session %s deleted, only a new message of a user begins a new one',
  async ([, remove]) => {
    const { store, memory } = await afterDeletion(remove);
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(memory.rename('Late title')).rejects.toMatchObject({ code: 'SESSION_DELETED' });
    await memory.flush();
    expect(await new SessionMemory(store, 's').records()).toEqual([]);
    await memory.append([userMessage('new', { id: 'n' })]);
    await memory.rename('New title');
    expect((await new SessionMemory(store, 's').read()).map(({ id }) => id)).toEqual(['n']);
    expect(await listSessions(store)).toMatchObject([{ title: 'New title' }]);
  },
);

test('after a run whose session was deleted, the memory shows what another writer began', async () => {
  const { store, memory } = await afterDeletion((_memory, each) =>
    new SessionMemory(each, 's').clear(),
  );
  await new SessionMemory(store, 's').append([userMessage('new', { id: 'n' })]);
  await memory.checkDeleted();
  expect((await memory.read()).map(({ id }) => id)).toEqual(['n']);
});

test('after a deletion, a note about the next run is stored with its message', async () => {
  const { store, memory } = await afterDeletion((each) => each.clear());
  await memory.note([{ kind: 'state', state: { host: 'tab' } }]);
  const agent = new ReActAgent({ name: 'a', memory, model: new ScriptedModel(['Hello.']) });
  await agent.call('hello');
  expect((await new SessionMemory(store, 's').view()).state).toMatchObject({ host: 'tab' });
});
