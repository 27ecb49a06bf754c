import {
  createExecutionContext,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { ReActAgent } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { createAgentHandler } from '../handler/agent-handler.ts';
import { kvSessions } from '../kv/index.ts';
import { rowCounters } from '../../test-support/agent-session.ts';
import { RowCounter } from '../../test-support/row-counter.ts';
import { ask, clock, gate, given, open, type Session } from '../../test-support/session-client.ts';

// The numbers are exact, and each row costs the user money. If one grows, find out why.

interface Counted {
  readonly session: Session;
  /** Sends requests and returns the rows that the session and the list wrote for them. */
  readonly rows: (
    send: () => Promise<unknown>,
  ) => Promise<readonly [session: number, list: number]>;
}

/** Opens a session that has already had one turn. */
async function begun(
  replies: readonly ScriptedReply[],
  { brief = false }: { readonly brief?: boolean } = {},
): Promise<Counted> {
  const session = open(['Hi.', ...replies], { brief });
  const objects = brief ? given.BRIEF_SESSIONS : given.TEST_SESSIONS;
  const [own, list] = [session.id, ''].map((id) => {
    const counter = new RowCounter();
    rowCounters.set(String(objects.idFromName(`${session.user}/${id}`)), counter);
    return counter;
  });
  // Setting the next alarm is the last thing that a session does after its turns.
  const rests = (): Promise<boolean> =>
    runInDurableObject(session.stub, async (_, { storage }) => {
      const at = await storage.getAlarm();
      return brief ? at! > Date.now() + 3_000_000 : at === null;
    });
  const rows: Counted['rows'] = async (send) => {
    await send();
    await expect.poll(rests).toBe(true);
    return [own!.take(), list!.take()];
  };
  // The first turn also creates tables and the identity, and adds the session to the list.
  expect(await rows(() => session.chat([ask('Hello', 'hello')]))).toEqual([brief ? 11 : 10, 4]);
  return { session, rows };
}

const oneTool = { toolCalls: [{ name: 'clock' }] };
const twoTools = { toolCalls: [{ name: 'clock' }, { name: 'clock' }] };

test.each<[string, number, (session: Session) => Promise<unknown>]>([
  ['a message of useChat', 5, ({ chat }) => chat([ask('And you?')])],
  ['a message of /api/run', 5, async ({ run }) => (await run({ input: 'And you?' })).text()],
  [
    'a chat completion',
    5,
    ({ openai }) =>
      openai.chat.completions.create({
        model: 'offline',
        messages: [{ role: 'user', content: 'And you?' }],
      }),
  ],
  [
    'a response',
    5,
    ({ openai }) => openai.responses.create({ model: 'offline', input: 'And you?' }),
  ],
  // The message is not stored with the answer, but with the removal of the old one (a batch and the
  // head). One more for the begin of the turn.
  ['an edited message', 8, ({ chat }) => chat([ask('Good day', 'hello')])],
  // Without a new message, the begin of the run is a write of its own (a batch and the head).
  ['another answer', 8, ({ chat }) => chat([ask('Hello', 'hello')], 'regenerate-message')],
])('%s costs %i rows, and one row in the list', async (_what, count, send) => {
  const { session, rows } = await begun(['Fine.']);
  expect(await rows(() => send(session))).toEqual([count, 1]);
});

test.each<[string, number, readonly ScriptedReply[]]>([
  ['two tools at once', 13, [twoTools, 'Noon.']],
  ['two tools one after the other', 17, [oneTool, oneTool, 'Noon.']],
])('a turn with %s costs %i rows, and one row in the list', async (_what, count, replies) => {
  const { session, rows } = await begun(replies);
  expect(await rows(() => session.chat([ask('What time is it?')]))).toEqual([count, 1]);
});

test('a turn of a session that expires costs one row more, for the alarm', async () => {
  const { session, rows } = await begun(['Fine.', 'Well.'], { brief: true });
  expect(await rows(() => session.chat([ask('And you?')]))).toEqual([6, 1]);
});

test('a turn that waits costs one row more, because its start is counted later', async () => {
  const first = gate();
  const { session, rows } = await begun([{ wait: first.passed, text: 'One.' }, 'Two.']);
  const both = await rows(async () => {
    const one = await session.post('/api/chat', { id: session.id, messages: [ask('A')] });
    const two = await session.post('/api/chat', { id: session.id, messages: [ask('B')] });
    first.open();
    await Promise.all([one.text(), two.text()]);
  });
  // No second alarm is set, but the attempt and the begin of the second turn are written.
  expect(both[0]).toBe(5 + 4 + 2);
});

test('a refused request costs three rows, and nothing in the list', async () => {
  const { session, rows } = await begun([]);
  const refused = async (): Promise<void> => {
    const decisions = [{ type: 'approve', toolUseId: 'x' }];
    expect((await session.run({ decisions })).status).toBe(400);
  };
  expect(await rows(refused)).toEqual([3, 0]);
});

test('reading, listing and resuming a session at rest costs no rows', async () => {
  const { session, rows } = await begun([]);
  const readAll = async (): Promise<void> => {
    await session.messages();
    await session.list();
    await session.transport.reconnectToStream({ chatId: session.id });
  };
  expect(await rows(readAll)).toEqual([0, 0]);
});

test.each<[string, readonly ScriptedReply[], string]>([
  ['a message', ['Fine.'], 'next'],
  ['a message with two tools', [oneTool, twoTools, 'Noon.'], 'next'],
  ['an edited message', ['Fine.'], 'hello'],
])('in KV, %s writes two keys', async (_what, replies, id) => {
  const written: string[] = [];
  const put = (...entry: Parameters<KVNamespace['put']>): Promise<void> => {
    written.push(entry[0]);
    return given.CHAT_KV.put(...entry);
  };
  const kv = new Proxy(given.CHAT_KV, {
    get: (target, name) => (name === 'put' ? put : Reflect.get(target, name).bind(target)),
  });
  const model = new ScriptedModel(['Hi.', ...replies]);
  const handler = createAgentHandler({
    authorize: () => ({ user: 'ann' }),
    kv: kvSessions(),
    agent: ({ memory, sessionId }) =>
      new ReActAgent({ name: 'assistant', memory, sessionId, tools: [clock], model }),
  });
  const session = crypto.randomUUID();
  for (const messageId of ['hello', id]) {
    written.length = 0;
    const context = createExecutionContext();
    const response = await handler.fetch(
      new Request('https://edge.test/api/chat', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ id: session, messages: [ask('Hello', messageId)] }),
      }),
      { CHAT_KV: kv },
      context,
    );
    expect(await response.text()).toContain('[DONE]');
    await waitOnExecutionContext(context);
  }
  expect(written.length).toBe(2);
});
