import {
  createExecutionContext,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { ReActAgent, tool } from '@isoloop/core';
import type { UiMessage } from '@isoloop/core/ai-sdk';
import { ScriptedModel } from '@isoloop/core/testing';
import type { UIMessage } from 'ai';
import { expect, test, vi } from 'vitest';
import durableObject from '../../../../test/fixtures/release-0.1/sessions/durable-object.json';
import kvDump from '../../../../test/fixtures/release-0.1/sessions/kv.json';
import { createAgentHandler } from '../agent-handler.ts';
import { factories } from '../../test-support/agent-session.ts';
import { ask, clock, given, open, textOf } from '../../test-support/session-client.ts';

type Dump = typeof durableObject.object | typeof durableObject.index;

const paid: number[] = [];
const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: { type: 'object' },
  needsApproval: true,
  execute: () => {
    paid.push(1);
    return 'paid';
  },
});

test('a Durable Object of release 0.1 shows its session and list, and its open approval can be decided', async () => {
  const { session: id, object, index, messages, list } = durableObject;
  const objects = given.TEST_SESSIONS;
  // Another user, because a session of another test may still write to the list of `ann`.
  const session = open([]);
  const { user } = session;
  const values = object.values.map(([key, value]) =>
    key === 'identity' ? [key, { ...Object(value), user }] : [key, value],
  );
  await restore(objects.get(objects.idFromName(`${user}/${id}`)), { ...object, values } as Dump);
  await restore(objects.get(objects.idFromName(`${user}/`)), index);
  factories.set(id, ({ memory, session: sessionId }) => {
    const model = new ScriptedModel(['Paid.']);
    return new ReActAgent({ name: 'assistant', memory, sessionId, tools: [clock, pay], model });
  });
  const response = await session.send(`/api/chat/${id}/messages`);
  const shown = ((await response.json()) as { messages: readonly UiMessage[] }).messages;
  // Release 0.1 did not show the usage.
  expect(shown.map(({ metadata: _usage, ...message }) => message)).toEqual(messages);
  expect(await session.list()).toEqual(list);

  const decided = await session.post('/api/run', {
    id,
    decisions: [{ toolUseId: 'p', type: 'approve' }],
  });
  expect(await decided.text()).toMatch(/"type":"run-end".*"text":"Paid\."/);
  expect(paid).toHaveLength(1);
});

test('a Durable Object of release 0.1 answers the turns that waited, in their order', async () => {
  const { session: id, object } = durableObject;
  const objects = given.TEST_SESSIONS;
  const session = open([]);
  const stub = objects.get(objects.idFromName(`${session.user}/${id}`));
  const identity = { user: session.user, session: id, createdAt: 1 };
  await restore(stub, { ...object, values: [['identity', identity]] } as Dump);
  factories.set(id, ({ memory, session: sessionId }) => {
    const model = new ScriptedModel([({ messages }) => `Answer to ${messages.at(-1)!.id}.`]);
    return new ReActAgent({ name: 'assistant', memory, sessionId, tools: [clock], model });
  });
  const long = '旅a😀'.repeat(300_000);
  await runInDurableObject(stub, (_, { storage: { sql } }) => {
    for (const [turn, text] of [
      [7, 'short'],
      [8, long],
    ] as const) {
      const message = {
        id: `m${turn}`,
        role: 'user',
        content: [{ type: 'text', text }],
        createdAt: '2026-11-22T12:00:00.000Z',
      };
      const bytes = new TextEncoder().encode(
        JSON.stringify({
          turn: { kind: 'message', message },
          model: 'offline',
          messageId: `a${turn}`,
          requestId: 'r',
        }),
      );
      sql.exec('INSERT INTO isoloop_turns (id, begun, attempts) VALUES (?, 0, 0)', turn);
      for (let at = 0; at < bytes.length; at += 1_000_000)
        sql.exec(
          'INSERT INTO isoloop_turn_pieces VALUES (?, ?, ?)',
          turn,
          at,
          bytes.slice(at, at + 1_000_000),
        );
    }
  });
  const shown = async (): Promise<UIMessage[]> => {
    const response = await session.send(`/api/chat/${id}/messages`);
    return ((await response.json()) as { messages: UIMessage[] }).messages;
  };
  await expect
    .poll(async () => (await shown()).slice(-3).map(textOf))
    .toEqual(['Answer to m7.', long, 'Answer to m8.']);
});

test('a Durable Object of release 0.1 expires after its last change', async () => {
  const { session: id, object } = durableObject;
  const objects = given.BRIEF_SESSIONS;
  const session = open([], { brief: true });
  const stub = objects.get(objects.idFromName(`${session.user}/${id}`));
  const identity = { user: session.user, session: id, createdAt: 1 };
  const at = Date.now();
  const values = [
    ['identity', identity],
    ['touched', { at, count: 8 }],
    ['listed', 8],
  ];
  await restore(stub, { ...object, values } as Dump);
  const shown = async (): Promise<number> => {
    const response = await session.send(`/api/chat/${id}/messages`);
    return ((await response.json()) as { messages: [] }).messages.length;
  };
  const alarm = async (time: number): Promise<void> => {
    await runInDurableObject(stub, (_, { storage }) => storage.setAlarm(Date.now() + 60_000));
    const now = vi.spyOn(Date, 'now').mockReturnValue(time);
    await runDurableObjectAlarm(stub);
    now.mockRestore();
  };
  await alarm(at + 3_500_000);
  expect(await shown()).toBeGreaterThan(0);
  await alarm(at + 3_700_000);
  expect(await shown()).toBe(0);
});

test('KV of release 0.1 shows its session and list, and the session continues from the echo', async () => {
  for (const { name, value } of kvDump.entries) await given.CHAT_KV.put(name, value!);
  const handler = createAgentHandler({
    authorize: () => ({ user: kvDump.user }),
    agent: ({ memory, session }) =>
      new ReActAgent({
        name: 'assistant',
        memory,
        sessionId: session,
        tools: [clock],
        model: new ScriptedModel(['Third.']),
      }),
  });
  const call = async (path: string, init?: RequestInit): Promise<string> => {
    const context = createExecutionContext();
    const bindings = { CHAT_KV: given.CHAT_KV, SESSION_SECRET: kvDump.secrets[0] };
    const response = await handler.fetch(
      new Request(`https://edge.test${path}`, init),
      bindings,
      context,
    );
    const text = await response.text();
    await waitOnExecutionContext(context);
    return text;
  };
  const path = `/api/chat/${kvDump.session}/messages`;
  const shown = (JSON.parse(await call(path)) as { messages: UIMessage[] }).messages;
  expect(shown.map(withoutMetadata)).toEqual(
    (kvDump.messages.messages as UIMessage[]).map(withoutMetadata),
  );
  expect(JSON.parse(await call('/api/chats'))).toEqual(kvDump.chats);

  const last = kvDump.messages.messages.at(-1) as UIMessage;
  const body = JSON.stringify({ id: kvDump.session, messages: [last, ask('And then?')] });
  await call('/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const after = (JSON.parse(await call(path)) as { messages: UIMessage[] }).messages;
  expect(after.map(textOf)).toEqual([...shown.map(textOf), 'And then?', 'Third.']);
});

/** Removes the metadata, because its echo (a signed token) is different each time. */
function withoutMetadata({ metadata: _metadata, ...message }: UIMessage): object {
  return message;
}

/**
 * Writes tables and values directly to the storage of a Durable Object, without the code under
 * test.
 */
async function restore(stub: DurableObjectStub, { tables, rows, values }: Dump): Promise<void> {
  await runInDurableObject(stub, async (_object, { storage }) => {
    for (const { sql } of tables)
      storage.sql.exec(sql.replace(/^CREATE (TABLE|INDEX)/, 'CREATE $1 IF NOT EXISTS'));
    for (const [table, all] of Object.entries(rows)) {
      for (const row of all as Record<string, string | number>[]) {
        const marks = Object.keys(row).map(() => '?');
        storage.sql.exec(
          `INSERT INTO ${table} (${Object.keys(row).join()}) VALUES (${marks.join()})`,
          ...Object.values(row),
        );
      }
    }
    for (const [key, value] of values) await storage.put(key as string, value);
  });
}
