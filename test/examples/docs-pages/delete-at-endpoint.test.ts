import { expect, onTestFinished, test, vi } from 'vitest';
import '../strict-assert.ts';
import { MemoryStore, ReActAgent, type KeyValueStore } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
// #region delete-at-endpoint
import { createAgentHandler } from '@isoloop/edge';
import { storeSessions } from '@isoloop/edge/store';

interface Env {
  readonly SERVER_TOKEN: string; // 32 random characters or more
}

// #endregion

test('a server deletes all conversations of one user at an endpoint', async () => {
  const env: Env = { SERVER_TOKEN: 'b'.repeat(32) };
  const token = env.SERVER_TOKEN;
  const store: KeyValueStore = new MemoryStore();
  const model = new ScriptedModel(Array.from({ length: 3 }, () => 'Hello.'));
  const userOf = (request: Request): string | null => request.headers.get('x-login'); // the login of pages

  // #region delete-at-endpoint
  const handler = createAgentHandler<Env>({
    store: storeSessions(store), // in Node; a Worker binds CHAT_SESSION instead
    agent: ({ sessionId, memory }) =>
      new ReActAgent({ name: 'assistant', model, sessionId, memory }),
    authorize: (request, { SERVER_TOKEN }) => {
      const isServer = request.headers.get('authorization') === `Bearer ${SERVER_TOKEN}`;
      const user = isServer ? request.headers.get('x-user') : userOf(request);
      return user ? { user } : null;
    },
  });

  const deleteUser = async (userId: string): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, 'x-user': userId };
    const ask = async (path: string, method = 'GET'): Promise<Response> => {
      const response = await fetch(`https://chat.example/api/${path}`, { method, headers });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
      return response;
    };
    for (;;) {
      const { chats } = await (await ask('chats?limit=1000')).json();
      if (chats.length === 0) return;
      for (const { sessionId } of chats) await ask(`chat/${sessionId}`, 'DELETE');
    }
  };
  // #endregion

  const fetched = (url: string, init?: RequestInit) =>
    handler.fetch(new Request(url, init), env) as Promise<Response>;
  vi.stubGlobal('fetch', fetched);
  onTestFinished(() => void vi.unstubAllGlobals());
  const say = (user: string, sessionId: string) =>
    fetched('https://chat.example/api/run', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'x-user': user,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ sessionId, input: 'Hi' }),
    }).then((response) => response.text());
  for (const [user, id] of [
    ['ann', 'one'],
    ['ann', 'two'],
    ['bob', 'one'],
  ] as const)
    await say(user, id);
  const chatsOf = async (user: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, 'x-user': user };
    const response = await fetched('https://chat.example/api/chats', { headers });
    return ((await response.json()) as { chats: unknown[] }).chats.length;
  };
  expect(await chatsOf('ann')).toBe(2);
  await deleteUser('ann');
  expect(await chatsOf('ann')).toBe(0);
  expect(await chatsOf('bob')).toBe(1);
});
