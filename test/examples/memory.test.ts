import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region memory
import {
  AgentError,
  listSessions,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
} from '@isoloop/core';
// #endregion
// #region durable-sessions
import { isCutOff } from '@isoloop/core/log';
// #endregion
// #region files
import { unstorageStore } from '@isoloop/core/memory';
import fsDriver from 'unstorage/drivers/fs';
// #endregion
// #region echo-memory
import { EchoMemory } from '../../packages/edge/src/kv/log/echo-memory.ts';
// #endregion

test('a session in a store continues in another agent', async () => {
  const model = new ScriptedModel(['Hello Ann.', 'Ann.', 'I do not know.']);

  // #region memory
  const store = new MemoryStore(); // in a worker IndexedDbStore, on Cloudflare KvStore, or your own KeyValueStore
  const agentOf = (sessionId: string): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      model,
      sessionId,
      memory: new SessionMemory(store, sessionId),
    });

  await agentOf('notes').call('I am Ann.');
  const { text } = await agentOf('notes').call('Who am I?'); // another instance continues the conversation

  const memory = new SessionMemory(store, 'notes', { durability: 'turn' }); // one write per call; default: after each step
  const messages = await memory.read();
  await memory.delete([messages[0]!.id]);
  await memory.clear();
  // #endregion

  expect(text).toBe('Ann.');
  expect(model.requests[1]?.messages.map(textOf)).toEqual(['I am Ann.', 'Hello Ann.', 'Who am I?']);
  expect(await new SessionMemory(store, 'notes').read()).toEqual([]);
});

test('a session continues a run after its host died', async () => {
  const store = new MemoryStore();
  const calls = [
    { name: 'book', input: {}, id: 'booked' },
    { name: 'read', input: {}, id: 'read' },
  ];
  let isDead = true;
  let booked = 0;
  const model = new ScriptedModel([{ toolCalls: calls }, 'All done.', 'Too late.']);
  const book = (): string => `booking ${(booked += 1)}`;
  let wake!: (page: string) => void;
  const late = new Promise<string>((resolve) => (wake = resolve));
  const readPage = (): Promise<string> | string => (isDead ? late : 'The page.');

  // #region durable-sessions
  const open = (): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      model,
      sessionId: 'trip',
      memory: new SessionMemory(store, 'trip'), // IndexedDbStore in a worker, DurableStore in a Durable Object
      tools: [
        tool({ name: 'book', description: 'Books a room', input: {}, execute: book }), // never runs again, because its result is stored
        tool({
          name: 'read',
          description: 'Reads a page',
          input: {},
          execute: readPage,
          replay: 'safe',
        }), // runs again
      ],
    });
  const first = open().stream('Book a room, then read the page.', { detached: true });
  for await (const event of first) if (event.type === 'post-acting') break; // the host dies here

  isDead = false;
  const second = open();
  const view = await (second.memory as SessionMemory).view();
  if (isCutOff(view)) console.assert((await second.call()).text === 'All done.');
  // #endregion

  expect(booked).toBe(1);
  expect((await listSessions(store)).map(({ sessionId }) => sessionId)).toEqual(['trip']);
  wake('The page.');
  await Promise.allSettled([first.result]);
});

test('a durable agent in Node keeps its sessions in files', async () => {
  const home = process.cwd();
  const folder = await mkdtemp(join(tmpdir(), 'isoloop-'));
  process.chdir(folder);
  onTestFinished(async () => {
    process.chdir(home);
    await rm(folder, { recursive: true });
  });
  const model = new ScriptedModel(['Hello Ann.', 'Ann.']);

  // #region files
  const files = unstorageStore(fsDriver({ base: './sessions' }), { singleProcess: true });
  const durable = (): ReActAgent =>
    new ReActAgent({ name: 'assistant', model, memory: new SessionMemory(files, 'ann') });
  await durable().call('I am Ann.');
  // #endregion

  expect((await durable().call('Who am I?')).text).toBe('Ann.');
  expect(model.requests[1]?.messages).toHaveLength(3);
  expect((await readdir(folder, { recursive: true })).length).toBeGreaterThan(2);
});

test('a memory with echoes (session tokens) reports a conflict and shows both branches', async () => {
  const model = new ScriptedModel(['One.', 'Two.', 'Three.']);
  const store = new MemoryStore();
  const secret = 'of 32 characters or more ........';
  const agentOf = (memory: EchoMemory): ReActAgent =>
    new ReActAgent({ name: 'assistant', model, memory });
  const first = new EchoMemory(store, 'ann/notes', { secrets: [secret] });
  await agentOf(first).call('Count.');
  const echo = first.echo!;
  const other = new EchoMemory(store, 'ann/notes', { secrets: [secret] });
  await agentOf(other).call('Begin anew.');

  // #region echo-memory
  const memory = new EchoMemory(store, 'ann/notes', { secrets: [secret], echo }); // one object per request
  try {
    await memory.read();
    await agentOf(memory).call('Go on.'); // `memory.echo` during the call: { base, turnId }; afterwards: the new state
  } catch (error) {
    if (!AgentError.is(error) || error.code !== 'SESSION_CONFLICT') throw error;
    const { yours, theirs } = await memory.branches(); // each branch has its messages, and the echo that continues it
    console.assert(yours?.echo !== theirs?.echo);
  }
  // #endregion

  const { yours, theirs } = await memory.branches();
  expect([yours, theirs].map((branch) => textOf(branch!.messages[0]!))).toEqual([
    'Count.',
    'Begin anew.',
  ]);
});
