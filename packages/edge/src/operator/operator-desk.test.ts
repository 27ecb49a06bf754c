import { AgentError, InMemoryMemory } from '@isoloop/core';
import { operator } from '@isoloop/core/several';
import { expect, test } from 'vitest';
import type { RateLimiter } from '../settings/handler-options.ts';
import { boundEndpoint, places } from '../../test-support/both-bindings.ts';
import { atCloudflare } from '../../test-support/endpoint.ts';
import { codeOf } from '../../test-support/session-client.ts';
import { operatorDesk } from './operator-desk.ts';

const desk = operatorDesk({
  authorize: (request, _env, { user }) => {
    const [, name, whose] = request.headers.get('authorization')?.match(/^Desk (\w+) (.+)$/) ?? [];
    return name && (whose === 'all' || whose === user) ? { name } : null;
  },
});

function openDesk(
  place: (typeof places)[number],
  replies: Parameters<typeof boundEndpoint>[1],
  options: Parameters<typeof boundEndpoint>[3] = {},
) {
  const target = boundEndpoint(
    place,
    replies,
    { use: [operator()] },
    { operator: desk, ...options },
  );
  const path = `/api/operator/${encodeURIComponent(target.user)}/${target.id}`;
  const send = (body?: object, authorization = 'Desk Ann all', to = path): Promise<Response> =>
    target.fetch(to, {
      headers: { authorization, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
  /** Posts as the operator, and waits for the end of the run. */
  const tell = async (action: string, text: string): Promise<string> => {
    const response = await send({ action, text });
    expect(response.status).toBe(200);
    return response.text();
  };
  const shown = async () =>
    (await target.messages()).map(({ role, metadata, parts }) => {
      const { operator: by } = Object(metadata) as { operator?: { name: string } };
      const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
      return `${by?.name ?? role}: ${text}`;
    });
  return { ...target, path, send, tell, shown };
}

test.for(places)('%s: a person answers in place of the agent, then hands back', async (place) => {
  const { chat, send, tell, shown, model } = openDesk(place, ['Hello.', 'You are welcome.']);
  const talk = chat();
  await talk.sendMessage({ text: 'Hi' });
  expect(await tell('join', 'I am Ann.')).toContain('"reason":"suspended"');
  await talk.sendMessage({ text: 'Help' });
  await tell('say', 'Restart it.');
  expect(model.requests).toHaveLength(1);
  expect(await shown()).toEqual([
    'user: Hi',
    'assistant: Hello.',
    'Ann: I am Ann.',
    'user: Help',
    'Ann: Restart it.',
  ]);
  // The operator sees the same conversation.
  const seen = (await (await send()).json()) as { readonly messages: readonly object[] };
  expect(seen.messages).toHaveLength(5);
  await tell('leave', 'Bye.');
  await talk.sendMessage({ text: 'Thanks' });
  expect((await shown()).slice(5)).toEqual([
    'Ann: Bye.',
    'user: Thanks',
    'assistant: You are welcome.',
  ]);
  expect(model.requests.at(-1)!.messages.map(({ name, role }) => name ?? role)).toEqual([
    'user',
    'assistant',
    'Ann',
    'user',
    'Ann',
    'Ann',
    'user',
  ]);
});

test('only operators that its own `authorize` accepts may read and write', async () => {
  const { chat, send, user, id } = openDesk('KV', ['Hello.']);
  await chat().sendMessage({ text: 'Hi' });
  const refused = [401, 'UNAUTHORIZED'];
  const join = { action: 'join', text: 'I am Ann.' };
  expect(await codeOf(await send(join, `Bearer ${encodeURIComponent(user)}`))).toEqual(refused);
  expect(await codeOf(await send(undefined, 'Desk Ann somebody'))).toEqual(refused);
  expect(await codeOf(await send(join, `Desk Ann ${user}`, `/api/operator/other/${id}`))).toEqual(
    refused,
  );
  expect((await send(undefined, `Desk Ann ${user}`)).status).toBe(200);
});

test('a conversation of a blank user is refused', async () => {
  const { send, id } = openDesk('KV', ['Hello.']);
  const answer = await send(undefined, 'Desk Ann all', `/api/operator/%20/${id}`);
  expect(await codeOf(answer)).toEqual([400, 'INVALID_INPUT']);
});

test('an unknown conversation and a wrong body are refused', async () => {
  const { send, chat } = openDesk('KV', ['Hello.']);
  expect(await codeOf(await send({ action: 'join', text: 'Hi' }))).toEqual([404, 'NOT_FOUND']);
  await chat().sendMessage({ text: 'Hi' });
  for (const body of [{ action: 'pause', text: 'x' }, { text: ' ' }, { text: 'x', more: 1 }])
    expect(await codeOf(await send(body))).toEqual([400, 'INVALID_INPUT']);
});

test('in a Durable Object, an operator who joins ends the running answer', async () => {
  const { chat, tell, shown } = openDesk('Durable Object', [
    [{ text: 'Once ' }, { text: 'upon', hang: true }],
  ]);
  const talk = chat();
  const running = talk.sendMessage({ text: 'A story' });
  await expect.poll(() => JSON.stringify(talk.messages)).toContain('upon');
  await tell('join', 'I am Ann.');
  await running;
  expect(await shown()).toEqual(['user: A story', 'assistant: Once upon', 'Ann: I am Ann.']);
});

test('in a Durable Object, a waiting page is told about the message of an operator, and of no other', async () => {
  const { chat, tell, get, id, messages } = openDesk('Durable Object', ['Hello.', 'Again.']);
  const talk = chat();
  await talk.sendMessage({ text: 'Hi' });
  const changes = async (after: string): Promise<string> => {
    const response = await get(`/api/chat/${id}/changes?after=${after}`);
    return ((await response.json()) as { position: string }).position;
  };
  // A page without a position gets one at once.
  const first = await changes('');
  const told = changes(first);
  await talk.sendMessage({ text: 'More' });
  expect(await changes('')).toBe(first);
  await tell('join', 'I am Ann.');
  const second = await told;
  expect(second).not.toBe(first);
  expect(JSON.stringify((await messages()).at(-1))).toContain('I am Ann.');
  // A message between two requests is not lost.
  await tell('say', 'Restart it.');
  expect(await changes(second)).not.toBe(second);
});

test('a page waits for an operator in a Durable Object whose messages are in a memory of the host', async () => {
  const { get, id } = openDesk('Durable Object', [], { memory: () => new InMemoryMemory() });
  const response = await get(`/api/chat/${id}/changes`);
  expect([response.status, await response.json()]).toEqual([200, { position: expect.any(String) }]);
});

test('a conversation in KV cannot wait for messages', async () => {
  const { chat, get, id } = openDesk('KV', ['Hello.']);
  await chat().sendMessage({ text: 'Hi' });
  const refused = [501, 'NEEDS_DURABLE_OBJECT'];
  expect(await codeOf(await get(`/api/chat/${id}/changes`))).toEqual(refused);
});

test('the limiter counts operators by name, and their failed logins by address, not the user’s limit', async () => {
  const keys: string[] = [];
  const limiter: RateLimiter = {
    limit: async ({ key }) => {
      keys.push(key);
      return { success: keys.filter((each) => each === key).length <= 2 };
    },
  };
  const authorize: Parameters<typeof operatorDesk>[0]['authorize'] = (request) => {
    const word = request.headers.get('authorization');
    if (word === 'down') throw new AgentError('OVERLOADED', 'Ask later.');
    if (word === 'broken') throw new Error('broken');
    return word === 'Ann' || word === 'Bob' ? { name: word } : null;
  };
  const options = { operator: operatorDesk({ authorize }), rateLimit: () => limiter };
  const target = boundEndpoint('KV', [], { use: [operator()] }, options);
  const path = `/api/operator/${encodeURIComponent(target.user)}/${target.id}`;
  const enter = async (authorization: string): Promise<number> => {
    const headers = { authorization, 'cf-connecting-ip': '203.0.113.9' };
    const request = new Request(new URL(path, 'https://edge.test'), { headers });
    return (await target.fetch(atCloudflare(request))).status;
  };
  // Wrong logins lock out neither operators nor users of the same address.
  expect([await enter('x'), await enter('broken'), await enter('x')]).toEqual([401, 401, 429]);
  expect([await enter('Ann'), await enter('Ann'), await enter('Ann')]).toEqual([200, 200, 429]);
  expect([await enter('Bob'), await enter('down')]).toEqual([200, 503]);
  expect(new Set(keys)).toEqual(new Set(['login:203.0.113.9', 'operator:Ann', 'operator:Bob']));
});
