import {
  createExecutionContext,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { ReActAgent, tool } from '@isoloop/core';
import type { UiMessage } from '@isoloop/core/ai-sdk';
import { ScriptedModel } from '@isoloop/core/testing';
import type { UIMessage } from 'ai';
import { expect, test } from 'vitest';
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
  const { user, session: id, messages, list } = durableObject;
  const objects = given.TEST_SESSIONS;
  await restore(objects.get(objects.idFromName(`${user}/${id}`)), durableObject.object);
  await restore(objects.get(objects.idFromName(`${user}/`)), durableObject.index);
  const session = open([], { user });
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
