import { runDurableObjectAlarm } from 'cloudflare:test';
import { AgentError, InMemoryMemory, textOf as textOfMessage } from '@isoloop/core';
import { inputGuard } from '@isoloop/guards';
import { expect, test, vi } from 'vitest';
import { fakeDate } from '@test/clock/fake-date.ts';
import type { SessionAgent } from '../settings/handler-options.ts';
import type { ListedSession } from '../settings/session-list.ts';
import { bindings, testEndpoint } from '../../test-support/endpoint.ts';
import { ask, codeOf, gate, leaveAt, open, textOf } from '../../test-support/session-client.ts';

const stores = {
  KV: {},
  'KV with echoes': { SESSION_SECRET: 'x'.repeat(32) },
  'a Durable Object': undefined,
};

/** Returns the id, the user and the client of a new conversation in one of the stores. */
function openConversation(env: object | undefined, replies: readonly string[]) {
  const user = `ann/${crypto.randomUUID()}`;
  if (!env) {
    const session = open(replies, { user });
    return { id: session.id, user, send: session.send };
  }
  const target = testEndpoint(replies, {}, {}, { ...bindings, ...env });
  const send = async (path: string, init: RequestInit = {}, from = user): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${from}`);
    const response = await target.fetch(path, { ...init, headers });
    const text = await response.text();
    await target.settled();
    return new Response(text || null, response);
  };
  return { id: crypto.randomUUID(), user, send };
}

test.for(Object.entries(stores))(
  '%s: PATCH gives a conversation another title, which later turns keep',
  async ([, env]) => {
    const { id, user, send } = openConversation(env, ['One.', 'Two.']);
    const sendJson = (method: string, path: string, body: object, from?: string) =>
      send(
        path,
        {
          method,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        },
        from,
      );
    const rename = (title: unknown, from?: string, session = id): Promise<Response> =>
      sendJson('PATCH', `/api/chat/${session}`, { title }, from);
    const list = async (from?: string): Promise<readonly ListedSession[]> =>
      ((await (await send('/api/chats', {}, from)).json()) as { chats: readonly ListedSession[] })
        .chats;
    const messages = async () =>
      ((await (await send(`/api/chat/${id}/messages`)).json()) as { messages: object[] }).messages;

    expect(await codeOf(await rename('Too early'))).toEqual([404, 'NOT_FOUND']);
    await (await sendJson('POST', '/api/chat', { id, messages: [ask('Hello')] })).text();
    await expect.poll(() => list()).toMatchObject([{ sessionId: id, title: 'Hello' }]);
    const [before] = await list();
    const shown = await messages();
    expect((await rename('  東京の旅  ')).status).toBe(204);
    expect(await list()).toEqual([{ ...before, title: '東京の旅' }]);
    // The page sends the state that it knew before.
    const again = await sendJson('POST', '/api/chat', { id, messages: [...shown, ask('More')] });
    expect(await again.text()).toContain('Two.');
    await expect.poll(async () => (await messages()).length).toBe(4);
    expect(await list()).toMatchObject([{ sessionId: id, title: '東京の旅' }]);

    for (const title of ['', '  ', 'x'.repeat(201), 5, undefined, null, ['a']])
      expect(await codeOf(await rename(title))).toEqual([400, 'INVALID_INPUT']);
    expect(await codeOf(await rename('Mine', 'eve'))).toEqual([404, 'NOT_FOUND']);
    expect(await codeOf(await rename('Mine', `${user}/x`))).toEqual([404, 'NOT_FOUND']);
    expect((await rename('x'.repeat(200))).status).toBe(204);
    expect(await list()).toMatchObject([{ title: 'x'.repeat(200) }]);

    expect((await send(`/api/chat/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect(await codeOf(await rename('Gone'))).toEqual([404, 'NOT_FOUND']);
    expect(await list()).toEqual([]);
  },
);

test('a conversation that begins again after its deletion does not have the old title', async () => {
  const { id, user, send } = openConversation({}, ['One.', 'Two.']);
  const json = { 'content-type': 'application/json' };
  const chat = (text: string): Promise<Response> =>
    send('/api/chat', {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ id, messages: [ask(text)] }),
    });
  await chat('First');
  const body = JSON.stringify({ title: 'Mine' });
  await send(`/api/chat/${id}`, { method: 'PATCH', headers: json, body });
  expect((await bindings.CHAT_KV.list({ prefix: 'title:' })).keys).toEqual([
    { name: `title:${encodeURIComponent(user)}/${id}` },
  ]);
  await send(`/api/chat/${id}`, { method: 'DELETE' });
  expect((await bindings.CHAT_KV.list({ prefix: 'title:' })).keys).toEqual([]);
  await chat('Second');
  expect(await (await send('/api/chats')).json()).toMatchObject({ chats: [{ title: 'Second' }] });
});

test('renaming during the first turn in a Durable Object keeps the new title', async () => {
  const { passed, open: release } = gate();
  const session = open([
    { deltas: [[{ type: 'text', id: 't', delta: 'One' }]], wait: () => passed },
  ]);
  const turn = session.chat([ask('Hello')]);
  await expect.poll(() => session.list()).toHaveLength(1);
  const renamed = await session.send(`/api/chat/${session.id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: '{"title":"Mine"}',
  });
  expect(renamed.status).toBe(204);
  release();
  await turn;
  expect(await session.list()).toMatchObject([{ title: 'Mine' }]);
});

test('without a valid login, PATCH answers 401; in another memory, 501', async () => {
  const anonymous = testEndpoint(['One.']);
  const request = {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: '{"title":"Mine"}',
  };
  expect(await codeOf(await anonymous.fetch('/api/chat/a', request))).toEqual([
    401,
    'UNAUTHORIZED',
  ]);
  const elsewhere = testEndpoint([], {}, { memory: () => new InMemoryMemory() });
  const headers = { ...request.headers, authorization: 'Bearer ann' };
  expect(await codeOf(await elsewhere.fetch('/api/chat/a', { ...request, headers }))).toEqual([
    501,
    'NEEDS_DURABLE_OBJECT',
  ]);
  const form = { ...headers, 'content-type': 'text/plain' };
  expect(await codeOf(await anonymous.fetch('/api/chat/a', { ...request, headers: form }))).toEqual(
    [400, 'INVALID_INPUT'],
  );
  const posted = await anonymous.fetch('/api/chat/a', { ...request, method: 'POST', headers });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'DELETE, PATCH']);
});

test('a page of a listed origin may send PATCH', async () => {
  const target = testEndpoint([], {}, { cors: ['https://page.test'] });
  const preflight = await target.fetch('/api/chat/a', {
    method: 'OPTIONS',
    headers: { origin: 'https://page.test', 'access-control-request-method': 'PATCH' },
  });
  expect(preflight.headers.get('access-control-allow-methods')).toMatch(/\bPATCH\b/);
});

test('GET /api/chats lists sessions with titles, the newest first, and in pages', async () => {
  const user = `list/${crypto.randomUUID()}`;
  const date = fakeDate(1_000_000);
  const ids: string[] = [];
  for (const [index, text] of ['Plan  a\ntrip', '旅'.repeat(100), 'Third'].entries()) {
    // The whole request falls into one millisecond.
    date.set(1_000_000 + index);
    const session = open(['Yes.', 'No.'], { user });
    ids.push(session.id);
    await session.chat([ask(text)]);
    await expect
      .poll(async () => (await session.list()).filter(({ title }) => title).length)
      .toBe(index + 1);
  }
  const session = open([], { user });
  const chats = await session.list();
  expect(chats.map(({ sessionId }) => sessionId)).toEqual(ids.toReversed());
  expect(chats.map(({ title }) => title)).toEqual(['Third', `${'旅'.repeat(79)}…`, 'Plan a trip']);
  expect(chats[2]).toMatchObject({ createdAt: 1_000_000, updatedAt: 1_000_000 });
  expect((await session.list('?limit=1')).map(({ sessionId }) => sessionId)).toEqual([ids[2]]);
  expect((await session.list(`?before=${1_000_002}`)).map(({ sessionId }) => sessionId)).toEqual([
    ids[1],
    ids[0],
  ]);
  expect((await session.send(`/api/chat/${ids[1]}`, { method: 'DELETE' })).status).toBe(204);
  expect((await session.list()).map(({ sessionId }) => sessionId)).toEqual([ids[2], ids[0]]);
  for (const query of ['limit=0', 'limit=1001', 'limit=x', 'before=-1']) {
    expect(await codeOf(await session.send(`/api/chats?${query}`))).toEqual([400, 'INVALID_INPUT']);
  }
  expect(await (await session.send('/api/chats', {}, 'list')).json()).toEqual({ chats: [] });
  date.restore();
});

test('deleting a session stops its run and removes all its data, and the session id can be used again', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const done: string[] = [];
  let refuses = true;
  const parts: Partial<SessionAgent> = {
    close: async () => void done.push('closed'),
    deleteSession: async (id) => {
      if (refuses) throw new AgentError('STORAGE_FAILED', 'not now');
      done.push(id);
    },
  };
  const session = open([{ text: 'So far ', hang: true }, 'New.'], { parts });
  await leaveAt(session, ask('Tell me'), 'far ');
  const forget = (): Promise<Response> =>
    session.send(`/api/chat/${session.id}`, { method: 'DELETE' });
  expect(await codeOf(await forget())).toEqual([503, 'STORAGE_FAILED']);
  expect((await session.messages()).map(textOf)).toEqual(['Tell me', 'So far ']);
  refuses = false;
  expect((await forget()).status).toBe(204);
  expect(done.slice(-2)).toEqual(['closed', session.id]);
  expect(await session.messages()).toEqual([]);
  expect(await session.list()).toEqual([]);
  expect(await runDurableObjectAlarm(session.stub)).toBe(false);
  expect(textOf(await session.chat([ask('Hello again')]))).toBe('New.');
  expect((await session.messages()).length).toBe(2);
  log.mockRestore();
});

test('a message that a guard rejects does not become a title', async () => {
  const guard = inputGuard('guard', (input) => {
    if (textOfMessage(input[0]!).includes('secret')) throw new AgentError('GUARD_REJECTED', 'No.');
    return input;
  });
  const session = open(['Yes.'], { use: [guard] });
  await session.chat([ask('My secret')]);
  await expect.poll(() => session.list()).toMatchObject([{ sessionId: session.id }]);
  expect(JSON.stringify(await session.list())).not.toContain('secret');
  await session.chat([ask('Hello')]);
  await expect.poll(() => session.list()).toMatchObject([{ title: 'Hello' }]);
});

test('a message sent while the session is deleted begins a new session', async () => {
  const gone = gate();
  const session = open(['One.', 'Two.'], { parts: { deleteSession: () => gone.passed } });
  await session.chat([ask('Old')]);
  const deleted = session.send(`/api/chat/${session.id}`, { method: 'DELETE' });
  const answer = session.chat([ask('New')]);
  gone.open();
  expect((await deleted).status).toBe(204);
  expect(textOf(await answer)).toBe('Two.');
  expect((await session.messages()).map(textOf)).toEqual(['New', 'Two.']);
});
