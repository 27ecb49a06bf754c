import { InMemoryMemory } from '@isoloop/core';
import { expect, test } from 'vitest';
import type { ListedSession } from '../settings/session-list.ts';
import { bindings, testEndpoint } from '../../test-support/endpoint.ts';
import { ask, codeOf, gate, open } from '../../test-support/session-client.ts';

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
