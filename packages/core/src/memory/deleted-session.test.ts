import { expect, test } from 'vitest';
import { ReActAgent } from '../preset/react-agent.ts';
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
