import { expect, test, vi } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region memory-sessions
import { listSessions, MemoryStore, ReActAgent, SessionMemory, tool } from '@isoloop/core';
// #endregion
// #region memory-resume
import { isCutOff } from '@isoloop/core/log';
// #endregion
import { signalUntilTestEnd } from '../../support/test-end.ts';

test('the page about memory continues a conversation in another agent, and lists and deletes it', async () => {
  const model = new ScriptedModel(['Hello Ann.', 'You are Ann.']);
  const log = vi.spyOn(console, 'log').mockReturnValue();

  // #region memory-sessions
  const store = new MemoryStore(); // the browser: IndexedDbStore; Cloudflare: DurableStore, KvStore
  const open = (sessionId: string): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      model,
      sessionId,
      memory: new SessionMemory(store, sessionId),
    });

  await open('notes').call('I am Ann.');
  const { text } = await open('notes').call('Who am I?'); // a new instance reads the log

  const notes = new SessionMemory(store, 'notes');
  await notes.rename('About Ann');
  for (const { sessionId, title } of await listSessions(store)) console.log(sessionId, title);
  await notes.clear(); // deletes the conversation
  // #endregion

  expect(text).toBe('You are Ann.');
  expect(log.mock.calls).toEqual([['notes', 'About Ann']]);
  expect(await notes.read()).toEqual([]);
});

test('the page about memory resumes a run whose host died', async () => {
  const store = new MemoryStore();
  const model = new ScriptedModel([{ toolCalls: [{ name: 'book' }, { name: 'read' }] }, 'Done.']);
  let isDead = true;
  let booked = 0;
  const tools = [
    tool({ name: 'book', description: 'Books', input: {}, execute: () => (booked += 1) }),
    tool({
      name: 'read',
      description: 'Reads',
      input: {},
      execute: () => (isDead ? new Promise<string>(() => {}) : 'The page.'),
      replay: 'safe',
    }),
  ];
  const open = (): ReActAgent =>
    new ReActAgent({ name: 'assistant', model, tools, memory: new SessionMemory(store, 'trip') });
  const first = open().stream('Book, then read.', { detached: true, signal: signalUntilTestEnd() });
  for await (const event of first) if (event.type === 'post-acting') break;
  isDead = false;

  // #region memory-resume
  const agent = open(); // in the new host, over the same store
  const { memory } = agent;
  if (memory instanceof SessionMemory && isCutOff(await memory.view())) {
    const { text } = await agent.call(); // without input: continues from the log
    console.assert(text === 'Done.');
  }
  // #endregion

  expect(booked).toBe(1);
  expect(model.requests.length).toBe(2);
});
