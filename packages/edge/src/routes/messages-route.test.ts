import type { UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { testEndpoint } from '../../test-support/endpoint.ts';
import { chat, endpoint, newChat } from '../../test-support/tool-endpoint.ts';
import { ask, codeOf, open } from '../../test-support/session-client.ts';

test('two users with the same session id have separate sessions', async () => {
  const target = endpoint(['For Ann.', 'For Bob.']);
  const id = newChat();
  await chat(target, id, [ask('I am Ann')]);
  expect(await (await target.get(`/api/chat/${id}/messages`, 'bob')).json()).toEqual({
    messages: [],
  });
  await chat(target, id, [ask('Who am I?')], { user: 'bob' });
  expect(target.model.requests[1]!.messages.length).toBe(1);
  const { messages } = (await (await target.get(`/api/chat/${id}/messages`)).json()) as {
    messages: UIMessage[];
  };
  expect(messages.length).toBe(2);
});

test('a user cannot reach the sessions of another user by similar names', async () => {
  const target = testEndpoint(['One.', 'Two.']);
  const id = crypto.randomUUID();
  await (await target.post('/api/run', { sessionId: id, input: 'I am Ann' }, 'ann')).text();
  await target.settled();
  const read = async (path: string, user: string): Promise<unknown> =>
    (await target.get(path, user)).json();
  expect(await read(`/api/chat/${id}/messages`, 'ann')).toMatchObject({ messages: [{}, {}] });
  for (const user of ['bob', 'ANN', 'ann/', `ann/${id}`, '../ann']) {
    expect(await read(`/api/chat/${id}/messages`, user)).toEqual({ messages: [] });
  }
  expect((await target.get(`/api/chat/ann%2F${id}/messages`, 'bob')).status).toBe(400);
});

test('a session in a Durable Object has no branches', async () => {
  const session = open(['One.']);
  await session.chat([ask('Hi')]);
  const branches = await session.send(`/api/chat/${session.id}/branches`, {
    headers: { 'x-isoloop-echo': 'x' },
  });
  expect([branches.status, await branches.json()]).toEqual([200, {}]);
  expect(await codeOf(await session.send('/api/chat/a%2Fb/branches'))).toEqual([
    400,
    'INVALID_INPUT',
  ]);
});
