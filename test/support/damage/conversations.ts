import {
  ReActAgent,
  type KeyValueStore,
  MemoryStore,
  SessionMemory,
  type SessionMemoryOptions,
  assistantMessage,
  userMessage,
  type Msg,
  tool,
} from '@isoloop/core';
import { EchoMemory } from '../../../packages/edge/src/kv/log/echo-memory.ts';
import { ScriptedModel } from '@isoloop/core/testing';
import { weakStore } from '../weak-store.ts';
import type { Values } from './mutations.ts';

/** Maximum size of a stored value. It is small, so that long messages take several values. */
export const maxValueBytes = 2500;
export const secret = 'a secret of thirty-two characters';
export const sessionIds = [
  'plain',
  'tools',
  'suspended',
  'edited',
  'long',
  'compacted',
  'split',
] as const;

type Write = (
  open: (options?: SessionMemoryOptions) => SessionMemory,
  text: string,
) => Promise<void>;

/** Writes each session, with the given text in all its messages. */
const writers: Readonly<Record<(typeof sessionIds)[number], Write>> = {
  plain: async (open, text) => {
    for (let n = 0; n < 4; n++) await open().append([question(n, text), answer(n, text)]);
  },
  tools: async (open, text) => {
    const agent = agentOf(open(), [asks('a', 'b'), `Done ${text}`, asks('c'), `Again ${text}`]);
    await agent.call(`Look up ${text}`);
    await agent.call(`Once more ${text}`);
  },
  suspended: async (open, text) => {
    const agent = agentOf(open(), [`Hello ${text}`, asks('a'), asks('p', 'b')]);
    await agent.call(`Hi ${text}`);
    await agent.call(`Pay ${text}`);
  },
  edited: async (open, text) => {
    const memory = open();
    for (let n = 0; n < 4; n++) await memory.append([question(n, text), answer(n, text)]);
    await memory.delete(['q1', 'a1']);
    await memory.replace(userMessage(`edited ${text}`, { id: 'q2' }));
    await memory.note([
      { kind: 'summary', firstId: 'q0', lastId: 'a0', count: 2, text: `Short ${text}` },
      { kind: 'state', state: { values: { cart: [text, 'milk'], count: 3 } } },
    ]);
    await memory.rename(`Title ${text}`);
    await memory.append([question(5, text)]);
  },
  long: async (open, text) => {
    const memory = open();
    for (let n = 0; n < 35; n++) await memory.append([question(n, text)]);
  },
  compacted: async (open, text) => {
    for (let n = 0; n < 12; n++) {
      const memory = open({ compactAfter: 5 });
      await memory.read();
      await memory.append([question(n, text), answer(n, text)]);
    }
  },
  split: async (open, text) => {
    const memory = open();
    await memory.append([userMessage(`長い "text" ${text} `.repeat(300), { id: 'long' })]);
    await memory.append([answer(0, text)]);
    await memory.append([userMessage(`${text} 🙂\ufffd`.repeat(400), { id: 'longer' })]);
  },
};

/** Returns the stored values of all sessions. The keys do not depend on the text. */
export async function storedSessions(text: string): Promise<Values> {
  const store = new MemoryStore({ maxValueBytes });
  for (const id of sessionIds) {
    let count = 0;
    const generateId = (): string => `${id}-${count++}`;
    const open = (options: SessionMemoryOptions = {}): SessionMemory =>
      new SessionMemory(store, id, { generateId, now: () => 1000, ...options });
    await writers[id](open, text);
  }
  return valuesOf(store);
}

/** The stored values of a session with echoes, and the echoes that a client may send back. */
export interface StoredTurns {
  readonly values: Values;
  readonly echoes: readonly (readonly [name: string, echo: string | undefined])[];
}

/**
 * Writes a session with echoes: many short turns, of which the older ones are merged, and a long
 * turn.
 */
export async function storedTurns(
  sessionId: string,
  text: string,
  turns = 14,
): Promise<StoredTurns> {
  const store = new MemoryStore({ maxValueBytes });
  let count = 0;
  let time = 1_000_000;
  const open = (echo: string | undefined): EchoMemory =>
    new EchoMemory(weakStore(store), sessionId, {
      secrets: [secret],
      ...(echo !== undefined && { echo }),
      withoutEcho: 'latest',
      compactAfter: 4,
      generateId: () => `${sessionId}-${count++}`,
      now: () => (time += 1000),
      sleep: async () => {},
    });
  const echoes: (readonly [string, string | undefined])[] = [['none', undefined]];
  let last: string | undefined;
  for (let n = 0; n < turns; n++) {
    const memory = open(last);
    const words = n === turns - 2 ? `${text} 長い`.repeat(500) : text;
    await memory.append([question(n, words), answer(n, text)]);
    const begun = memory.echo;
    await memory.flush();
    last = memory.echo;
    if (n > turns - 4) echoes.push([`begun ${n}`, begun], [`ended ${n}`, last]);
    if (n === 0) echoes.push(['first begun', begun]);
  }
  return { values: await valuesOf(store), echoes };
}

export async function valuesOf(store: KeyValueStore): Promise<Values> {
  return store.getMany(await store.keys(''));
}

function question(n: number, text: string): Msg {
  return { ...userMessage(`question ${n} ${text}`, { id: `q${n}` }), createdAt };
}

function answer(n: number, text: string): Msg {
  return { ...assistantMessage(`answer ${n} ${text}`, { id: `a${n}` }), createdAt };
}

const createdAt = '2026-01-01T00:00:00.000Z';

function asks(...ids: readonly string[]) {
  return {
    toolCalls: ids.map((id) => ({ id, name: id === 'p' ? 'pay' : 'look', input: { id } })),
  };
}

function agentOf(memory: SessionMemory, replies: ConstructorParameters<typeof ScriptedModel>[0]) {
  const tools = ['look', 'pay'].map((name) =>
    tool({
      name,
      description: name,
      input: { type: 'object' },
      needsApproval: name === 'pay',
      execute: () => `${name} is done`,
    }),
  );
  return new ReActAgent({ name: 'assistant', memory, tools, model: new ScriptedModel(replies) });
}
