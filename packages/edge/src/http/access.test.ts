import { expect, test, vi } from 'vitest';
import { bindings, testEndpoint } from '../../test-support/endpoint.ts';
import { endpoint } from '../../test-support/tool-endpoint.ts';
import { boundEndpoint, places, textOf } from '../../test-support/both-bindings.ts';

test('every route except /healthz rejects callers that authorize does not know', async () => {
  const target = endpoint([]);
  for (const path of ['/api/chat', '/v1/chat/completions', '/v1/responses'])
    expect((await target.post(path, {}, '')).status).toBe(401);
  for (const path of ['/api/chat/a/messages', '/v1/models'])
    expect((await target.get(path, '')).status).toBe(401);
  const health = await target.get('/healthz', '');
  expect([health.status, await health.json()]).toEqual([200, { ok: true }]);

  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const failing = endpoint([], {
    authorize: () => {
      throw new Error('the key server at 10.0.0.1 is down');
    },
  });
  const response = await failing.get('/api/chat/a/messages');
  expect(response.status).toBe(401);
  expect(await response.text()).not.toContain('10.0.0.1');
  expect(String(log.mock.calls[0]?.[0])).toContain('10.0.0.1');
  log.mockRestore();
});

test('without authorize, only requests to localhost are answered', async () => {
  const { handler } = endpoint([], { authorize: undefined } as never);
  const at = (host: string): Promise<Response> | Response =>
    handler.fetch(new Request(`${host}/v1/models`), bindings);
  for (const host of ['http://localhost:8787', 'http://127.0.0.1', 'http://[::1]:1'])
    expect((await at(host)).status).toBe(200);
  for (const host of ['https://localhost.evil.test', 'https://agent.workers.dev']) {
    const response = await at(host);
    expect(response.status).toBe(401);
    expect(await response.text()).toContain('Pass `authorize` to createAgentHandler');
  }
});

test.each([
  [{ user: '' }],
  [{ user: ' ' }],
  [{ user: 7 }],
  [{ user: ['ann'] }],
  [{}],
  [true],
  ['ann'],
  [undefined],
])('an authorize() that returns %j rejects the request', async (caller) => {
  const target = testEndpoint([], {}, { authorize: () => caller as never });
  expect((await target.get('/v1/models')).status).toBe(401);
});

test.each([
  ['only the first half of a surrogate pair', 'ann\ud800'],
  ['only the second half of a surrogate pair', '\udc00'],
  ['a name that is too long', 'x'.repeat(257)],
  ['a name that is too long when encoded', '旅'.repeat(29)],
])('the endpoint rejects a user with %s', async (_what, user) => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  for (const place of places) {
    const target = boundEndpoint(place, [], {}, { authorize: () => ({ user }) });
    const response = await target.get(`/api/chat/${target.id}/messages`);
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { error: { code: 'UNAUTHORIZED' } },
    ]);
  }
  expect(log).toHaveBeenCalledTimes(places.length);
  log.mockRestore();
});

const hostile = [
  'x'.repeat(256),
  '旅'.repeat(28),
  'e\u0301',
  '\u00e9',
  'a/b',
  '../ann',
  '%2e%2e',
  '\u0000',
  '__proto__',
  'a:b',
  ' a',
  '{}',
  "'; DROP TABLE",
];

test.each(places)('%s: users with unusual names have separate sessions', async (place) => {
  const id = places.indexOf(place) + 'x'.repeat(127);
  const speak = (user: string) =>
    boundEndpoint(place, ['Hello.'], {}, { authorize: () => ({ user }) }, { id, user });
  for (const user of hostile) {
    const bound = speak(user);
    expect(await bound.messages(), user).toEqual([]);
    await bound.chat().sendMessage({ text: `I am ${user}` });
    expect((await bound.messages()).map(textOf)).toEqual([`I am ${user}`, 'Hello.']);
  }
  for (const user of hostile) {
    const bound = speak(user);
    expect((await bound.messages()).map(textOf)).toEqual([`I am ${user}`, 'Hello.']);
    const { chats } = (await (await bound.get('/api/chats')).json()) as {
      readonly chats: readonly object[];
    };
    expect(chats, user).toHaveLength(1);
    expect((await bound.fetch(`/api/chat/${id}`, { method: 'DELETE' })).status).toBe(204);
  }
});

test.each([
  ['cf-connecting-ip', '203.0.113.7', 401],
  ['cf-connecting-ip', '127.0.0.1', 200],
  ['cf-connecting-ip', '::1', 200],
  ['x-forwarded-for', '203.0.113.7', 401],
  ['x-forwarded-for', '127.0.0.1, 203.0.113.7', 401],
  ['x-forwarded-for', '127.0.0.1, ::ffff:127.0.0.1', 200],
  ['x-forwarded-for', '127.0.0.1.evil.test', 401],
  ['x-real-ip', '10.0.0.1', 401],
  ['x-client-ip', '10.0.0.1', 401],
  ['fly-client-ip', '10.0.0.1', 401],
  ['fastly-client-ip', '10.0.0.1', 401],
  ['x-cluster-client-ip', '10.0.0.1', 401],
  ['x-azure-clientip', '10.0.0.1', 401],
  ['x-envoy-external-address', '10.0.0.1', 401],
  ['forwarded', 'for=127.0.0.1', 401],
  ['x-original-forwarded-for', '203.0.113.7', 401],
  ['do-connecting-ip', '203.0.113.7', 401],
  ['x-nf-client-connection-ip', '203.0.113.7', 401],
  ['via', '1.1 proxy', 401],
  ['cdn-loop', 'cdn.test', 401],
  ['x-forwarded-host', 'agent.test', 401],
  ['x-forwarded-host', 'localhost:3000, agent.test', 401],
  ['x-forwarded-host', 'localhost:3000', 200],
  ['x-forwarded-host', '[::1]:3000', 200],
  ['origin', 'https://page.test', 401],
  ['origin', 'null', 403],
  ['origin', 'http://localhost:5173', 200],
  ['referer', 'https://page.test/chat', 401],
  ['referer', 'http://127.0.0.1:5173/chat', 200],
])(
  'without authorize, a localhost URL counts only if the forwarded address is local: %s %s',
  async (name, value, status) => {
    const cors = ['https://page.test'];
    const target = testEndpoint([], {}, { authorize: undefined as never, cors });
    const response = await target.fetch(
      new Request('http://localhost:8787/v1/models', { headers: { [name]: value } }),
    );
    expect(response.status).toBe(status);
  },
);

const hosts: Readonly<Record<string, (address: string) => object>> = {
  Node: (remoteAddress) => ({ incoming: { httpVersion: '1.1', socket: { remoteAddress } } }),
  Bun: (address) => ({ requestIP: () => ({ address }) }),
  Deno: (hostname) => ({ remoteAddr: { hostname } }),
};

test.for(Object.keys(hosts))(
  'without authorize, the address that %s connects to must be local, whatever the host says',
  async (name) => {
    const statuses: number[] = [];
    for (const address of [
      '127.0.0.1',
      '::1',
      '::ffff:127.0.0.1',
      '192.0.2.7',
      '::ffff:192.0.2.7',
    ]) {
      const env = { ...bindings, ...hosts[name]!(address) };
      const target = testEndpoint([], {}, { authorize: undefined as never }, env);
      statuses.push((await target.fetch('http://localhost:8787/v1/models')).status);
    }
    expect(statuses).toEqual([200, 200, 200, 401, 401]);
  },
);

test('without authorize, the log warns once about proxies when a request is accepted', async () => {
  const log = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const target = testEndpoint([], {}, { authorize: undefined as never });
  await target.fetch('https://agent.test/v1/models');
  expect(log).not.toHaveBeenCalled();
  for (let index = 0; index < 2; index++) await target.fetch('http://localhost/v1/models');
  expect(log).toHaveBeenCalledTimes(1);
  expect(String(log.mock.calls[0]?.[0])).toContain('pass `authorize` to createAgentHandler');
  log.mockRestore();
});

test('without authorize, a request over HTTP/1.0, as of nginx before 1.29.7, is not local', async () => {
  const env = { ...bindings, incoming: { httpVersion: '1.0', socket: { remoteAddress: '::1' } } };
  const target = testEndpoint([], {}, { authorize: undefined as never }, env);
  expect((await target.fetch('http://127.0.0.1:8787/v1/models')).status).toBe(401);
});
