import { expect, test } from 'vitest';
import { boundEndpoint, places } from '../../test-support/both-bindings.ts';
import { testEndpoint } from '../../test-support/endpoint.ts';

const question = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hello?' }] };

/** Returns the digest of the user in the answers to a message, and to requests that read. */
async function digestsOf(place: (typeof places)[number], user: string) {
  const bound = boundEndpoint(place, ['Hi.'], {}, {}, { user });
  const { id } = bound;
  const answer = await bound.post('/api/chat', { id, messages: [question] });
  await answer.text();
  const answers = [answer];
  for (const path of [`/api/chat/${id}/messages`, `/api/chat/${id}/stream`, '/api/chats'])
    answers.push(await bound.get(path));
  return {
    users: new Set(answers.map(({ headers }) => headers.get('x-isoloop-user'))),
    rejoins: new Set(answers.map(({ headers }) => headers.get('x-isoloop-rejoin'))),
  };
}

test.each(places)(
  'in %s, each answer has the same digest for a user, and no name',
  async (place) => {
    const ann = await digestsOf(place, 'ann');
    const bob = await digestsOf(place, 'bob');
    expect(ann.users.size).toBe(1);
    const [digest] = ann.users;
    expect(digest).toMatch(/^[\da-f]{32}$/);
    expect(bob.users).not.toEqual(ann.users);
    // In KV, the end of the reading ends the turn, so no tab may leave it.
    expect(ann.rejoins).toEqual(new Set([place === 'Durable Object' ? 'true' : null]));
  },
);

test('a page of a listed origin can read the digest, and a refused request has none', async () => {
  const target = testEndpoint(['Hi.'], {}, { cors: ['https://app.test'] });
  const origin = 'https://app.test';
  const response = await target.post('/api/chat', { id: 's', messages: [question] }, 'ann', {
    origin,
  });
  await response.text();
  const exposed = response.headers.get('access-control-expose-headers');
  expect(exposed).toContain('x-isoloop-user');
  expect(exposed).toContain('x-isoloop-rejoin');
  const refused = await target.fetch('/api/chats', { headers: { origin } });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('x-isoloop-user')).toBeNull();
});

test.each(places)(
  'in %s, a message that a page has sent for another user is refused and not stored',
  async (place) => {
    const { users } = await digestsOf(place, 'ann');
    const [userDigest] = users;
    const bound = boundEndpoint(place, ['Hi.'], {}, {}, { user: 'bob' });
    const { id } = bound;
    const refused = await bound.post('/api/chat', { id, messages: [question], userDigest });
    expect(refused.status).toBe(401);
    expect(await refused.text()).toContain('Another person is logged in');
    const stored = await bound.get(`/api/chat/${id}/messages`);
    expect(await stored.json()).toMatchObject({ messages: [] });
    const own = stored.headers.get('x-isoloop-user');
    const taken = await bound.post('/api/chat', { id, messages: [question], userDigest: own });
    expect(await taken.text()).toContain('Hi.');
  },
);
