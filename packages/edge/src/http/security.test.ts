import { AgentError } from '@isoloop/core';
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import { expect, test, vi } from 'vitest';
import type { RateLimiter } from '../settings/handler-options.ts';
import { postRoutes } from '../../test-support/post-routes.ts';
import { bearerToken } from './bearer-token.ts';
import { boundEndpoint, places, textOf } from '../../test-support/both-bindings.ts';
import { bindings, testEndpoint } from '../../test-support/endpoint.ts';
import { jwt } from '../jwt/jwt.ts';
import { llmProxy } from '../llm/llm-proxy.ts';

const ann = 'ann-0123456789abcdef';
const ci = 'ci-0123456789abcdef0';
const old = 'old-0123456789abcdef';
const asks = (authorization?: string): Request =>
  new Request('https://edge.test/', {
    headers: authorization === undefined ? {} : { authorization },
  });

test('bearerToken() finds the user of a token, and rejects similar tokens', async () => {
  const authorize = bearerToken(() => ({ ann, ci: [ci, old] }));
  for (const [token, user] of [
    [ann, 'ann'],
    [ci, 'ci'],
    [old, 'ci'],
  ]) {
    expect(await authorize(asks(`Bearer ${token}`), {})).toEqual({ user });
    expect(await authorize(asks(`bearer   ${token} `), {})).toEqual({ user });
  }
  const near = [
    ann.slice(0, -1),
    `${ann}x`,
    ann.toUpperCase(),
    `${ann} ${ann}`,
    `${ann}, Bearer ${ann}`,
    '',
    'undefined',
    'null',
    '[object Object]',
  ];
  for (const token of near) expect(await authorize(asks(`Bearer ${token}`), {})).toBeNull();
  for (const header of [undefined, ann, `Basic ${ann}`, `Token ${ann}`, 'Bearer'])
    expect(await authorize(asks(header), {})).toBeNull();
  expect(
    await bearerToken((env: { KEY: string }) => env.KEY)(asks(`Bearer ${ann}`), { KEY: ann }),
  ).toEqual({ user: 'token' });
});

test('bearerToken() ignores an old token that is not set', async () => {
  const authorize = bearerToken(() => ({ ann, ci: [ci, undefined] }));
  expect(await authorize(asks(`Bearer ${ann}`), {})).toEqual({ user: 'ann' });
  expect(await authorize(asks(`Bearer ${ci}`), {})).toEqual({ user: 'ci' });
  expect(await authorize(asks('Bearer undefined'), {})).toBeNull();
});

test('bearerToken() compares every known token, whichever token the request has', async () => {
  const digest = vi.spyOn(crypto.subtle, 'digest');
  const authorize = bearerToken(() => ({ ann, ci: [ci, old] }));
  const counts: number[] = [];
  for (const token of [ann, old, 'x', 'nobody-0123456789abcdef']) {
    digest.mockClear();
    await authorize(asks(`Bearer ${token}`), {});
    counts.push(digest.mock.calls.length);
  }
  expect(counts).toEqual([4, 4, 4, 4]);
  digest.mockRestore();
});

test.each([
  [undefined],
  [''],
  ['short'],
  [{ ann: undefined }],
  [{ ann: '' }],
  [{ ann: [undefined] }],
  [{ ann: [ann, ''] }],
  [{ ann: 7 }],
])('bearerToken() rejects everyone if a token is not set: %j', async (tokens) => {
  const authorize = bearerToken(() => tokens as never);
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  for (const token of ['undefined', 'short', '7', 'x'.repeat(20)]) {
    const target = testEndpoint([], {}, { authorize });
    const response = await target.get('/v1/models', token);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await response.text()).not.toMatch(/bearerToken|"ann"/);
  }
  log.mockRestore();
});

const issuer = 'https://login.test/';
const audience = 'chat';
const secret = 'a secret of thirty-two bytes, or so';

interface Claims extends JWTPayload {
  readonly alg?: string;
}

async function signed(
  key: Parameters<SignJWT['sign']>[0],
  { alg = 'HS256', ...claims }: Claims = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({
    sub: 'ann',
    iss: issuer,
    aud: audience,
    iat: now,
    exp: now + 600,
    ...claims,
  })
    .setProtectedHeader({ alg, kid: 'k1' })
    .sign(key);
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const base64 = (value: object): string =>
  btoa(JSON.stringify(value)).replaceAll('=', '').replaceAll('+', '-').replaceAll('/', '_');

test('a valid JSON Web Token identifies its subject, and a token with any flaw is rejected', async () => {
  const authorize = jwt({ secret: () => secret, issuer, audience });
  const check = async (token: string): Promise<unknown> => authorize(asks(`Bearer ${token}`), {});
  expect(await check(await signed(bytes(secret)))).toEqual({ user: 'ann' });
  const now = Math.floor(Date.now() / 1000);
  const wrong: Claims[] = [
    { exp: now - 60 },
    { exp: undefined as never },
    { nbf: now + 600 },
    { iss: 'https://evil.test/' },
    { iss: undefined as never },
    { aud: 'other' },
    { aud: undefined as never },
    { sub: '' },
    { sub: ' ' },
    { sub: undefined as never },
    { sub: 7 as never },
    { alg: 'HS512' },
  ];
  for (const claims of wrong)
    expect(await check(await signed(bytes(secret), claims)), JSON.stringify(claims)).toBeNull();
  expect(await check(await signed(bytes('another secret of thirty-two bytes')))).toBeNull();
  const [head, payload, signature] = (await signed(bytes(secret))).split('.') as [
    string,
    string,
    string,
  ];
  const admin = base64({ sub: 'admin', iss: issuer, aud: audience, exp: now + 600 });
  const forged = [
    `${head}.${admin}.${signature}`,
    `${base64({ alg: 'none' })}.${admin}.`,
    `${base64({ alg: 'none' })}.${payload}.${signature}`,
    `${head}.${payload}.`,
    `${head}.${payload}`,
    'x.y.z',
    'x',
  ];
  for (const token of forged) expect(await check(token), token).toBeNull();
  expect(await authorize(asks(), {})).toBeNull();
});

test('jwt() fetches the issuer’s published keys once, and rejects a token signed with the public key as secret', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const other = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' };
  let fetched = 0;
  const send = (async (url: string) => {
    fetched += 1;
    expect(url).toBe('https://login.test/keys');
    return Response.json({ keys: [jwk] });
  }) as never;
  const authorize = jwt({
    jwksUrl: 'https://login.test/keys',
    issuer,
    audience,
    fetch: send,
    user: ({ sub, tenant }) => `${String(tenant)}:${sub}`,
  });
  const check = async (token: string): Promise<unknown> => authorize(asks(`Bearer ${token}`), {});
  expect(await check(await signed(privateKey, { alg: 'ES256', tenant: 't' }))).toEqual({
    user: 't:ann',
  });
  expect(await check(await signed(privateKey, { alg: 'ES256', tenant: 't' }))).toEqual({
    user: 't:ann',
  });
  expect(fetched).toBe(1);
  expect(await check(await signed(other.privateKey, { alg: 'ES256' }))).toBeNull();
  expect(await check(await signed(bytes(JSON.stringify(jwk))))).toBeNull();
});

test('jwt() with a wrong setup rejects everyone and logs the reason', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const token = await signed((await generateKeyPair('ES256')).privateKey, { alg: 'ES256' });
  expect(() => jwt({ secret: () => secret, issuer: '', audience })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
  for (const authorize of [
    jwt({ secret: () => 'short', issuer, audience }),
    jwt({ secret: () => undefined as never, issuer, audience }),
    jwt({ jwksUrl: 'https://login.test/keys', algorithms: ['HS256'], issuer, audience }),
  ]) {
    const target = testEndpoint([], {}, { authorize });
    log.mockClear();
    const response = await target.get('/v1/models', token);
    expect([response.status, await response.text()]).toEqual([
      401,
      expect.not.stringMatching(/10\.0\.0\.1|jwt/),
    ]);
    expect(log).toHaveBeenCalledOnce();
  }
  log.mockRestore();
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

/** Counts the requests of each key, as the platform's rate limiter does. */
function limiter(limit: number): RateLimiter & { readonly keys: string[] } {
  const keys: string[] = [];
  return {
    keys,
    limit: async ({ key }) => {
      keys.push(key);
      return { success: keys.filter((each) => each === key).length <= limit };
    },
  };
}

test('the endpoint counts the requests of each user with a limiter from a binding or from the options', async () => {
  const bound = limiter(2);
  const given = limiter(2);
  const targets = [
    testEndpoint([], {}, {}, { ...bindings, RATE_LIMITER: bound }),
    testEndpoint([], {}, { rateLimit: () => given }),
  ];
  for (const target of targets) {
    const statuses: number[] = [];
    for (const user of ['ann', 'ann', 'ann', 'bob', ''])
      statuses.push((await target.get('/v1/models', user)).status);
    expect(statuses).toEqual([200, 200, 429, 200, 401]);
    const refused = await target.get('/v1/models', 'ann');
    expect(refused.headers.get('retry-after')).toBe('60');
    expect(await refused.json()).toMatchObject({
      error: { code: 'LIMIT_EXCEEDED', type: 'rate_limit_error' },
    });
    expect((await target.get('/healthz', '')).status).toBe(200);
  }
  expect(bound.keys).toEqual(['ann', 'ann', 'ann', 'bob', 'login:', 'ann']);
});

test('the endpoint works with the platform’s own rate limiter', async () => {
  const { RATE_LIMITER_TEST: own } = bindings as { readonly RATE_LIMITER_TEST?: RateLimiter };
  expect(own).toBeDefined();
  const target = testEndpoint([], {}, { rateLimit: () => own });
  const user = crypto.randomUUID();
  const statuses: number[] = [];
  for (let index = 0; index < 4; index++)
    statuses.push((await target.get('/v1/models', user)).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
});

test('the endpoint rejects all requests while its rate limiter fails', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const target = testEndpoint(
    [],
    {},
    { rateLimit: () => ({ limit: () => Promise.reject(new Error('SECRET')) }) },
  );
  const response = await target.get('/v1/models');
  expect([response.status, await response.text()]).toEqual([
    503,
    expect.not.stringContaining('SECRET'),
  ]);
  log.mockRestore();
});

test('every response has headers against framing and caching', async () => {
  const target = testEndpoint(['Hi.', 'Hi.'], {}, {});
  const answers = [
    await target.get('/healthz', ''),
    await target.get('/v1/models'),
    await target.get('/v1/models', ''),
    await target.get('/api/chat/a/messages'),
    await target.post('/api/run', { sessionId: crypto.randomUUID(), input: 'Hi' }),
    await target.post('/v1/chat/completions', {
      model: 'offline',
      messages: [{ role: 'user', content: 'Hi' }],
    }),
  ];
  for (const { headers } of answers) {
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toMatch(/^no-(store|cache)$/);
  }
  for (const answer of answers) await answer.text();
});

test.each([
  ['https://app.test', 200],
  ['https://edge.test', 200],
  ['http://edge.test', 200],
  ['https://app.test.evil.test', 403],
  ['https://evil.test', 403],
  ['http://localhost:3000', 403],
  ['null', 403],
  ['', 403],
])('a page of origin %j gets status %i', async (origin, status) => {
  const target = testEndpoint([], {}, { cors: ['https://app.test'] });
  const response = await target.fetch('/v1/models', {
    headers: { origin, authorization: 'Bearer ann' },
  });
  expect(response.status).toBe(status);
  expect(response.headers.get('access-control-allow-origin')).toBe(
    origin === 'https://app.test' ? origin : null,
  );
});

test('without authorize, only pages of localhost (any port) may call the endpoint', async () => {
  const target = testEndpoint([], {}, { authorize: undefined as never });
  const at = async (url: string, origin: string): Promise<number> =>
    (await target.fetch(new Request(url, { headers: { origin } }))).status;
  expect(await at('http://localhost:8787/v1/models', 'http://127.0.0.1:5173')).toBe(200);
  expect(await at('http://localhost:8787/v1/models', 'https://evil.test')).toBe(403);
  expect(await at('http://localhost:8787/v1/models', 'http://localhost.evil.test')).toBe(403);
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

test("a message with the id of the agent's answer is rejected and changes nothing", async () => {
  const target = testEndpoint(['One.', 'Two.']);
  const id = crypto.randomUUID();
  const ui = (messageId: string, text: string) => ({
    id: messageId,
    role: 'user',
    parts: [{ type: 'text', text }],
  });
  await (await target.post('/api/chat', { id, messages: [ui('m1', 'Hi')] })).text();
  await target.settled();
  const before = await (await target.get(`/api/chat/${id}/messages`)).text();
  const own = (JSON.parse(before) as { readonly messages: readonly { readonly id: string }[] })
    .messages[1]!.id;
  for (const trigger of ['submit-message', 'regenerate-message']) {
    const response = await target.post('/api/chat', {
      id,
      trigger,
      messages: [ui(own, 'I was the assistant')],
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'INVALID_MESSAGE' } },
    ]);
  }
  await target.settled();
  expect(await (await target.get(`/api/chat/${id}/messages`)).text()).toBe(before);
});

test('an agent error with secrets in all its parts reveals none of them', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const error = new AgentError('TOOL_ERROR', 'sk-secret', {
    cause: new Error('sk-secret'),
    details: { param: 'sk-secret', url: 'sk-secret' },
  });
  const target = testEndpoint([{ error }, { error }, { error }, { error }, { error }]);
  const v1 = { model: 'offline', messages: [{ role: 'user', content: 'Hi' }] };
  const response = { model: 'offline', input: 'Hi' };
  const answers = [
    await target.post('/api/run', { sessionId: crypto.randomUUID(), input: 'Hi' }),
    await target.post('/v1/chat/completions', v1),
    await target.post('/v1/chat/completions', { ...v1, stream: true }),
    await target.post('/v1/responses', response),
    await target.post('/v1/responses', { ...response, stream: true }),
  ];
  for (const answer of answers)
    expect((await answer.text()) + JSON.stringify([...answer.headers])).not.toContain('sk-secret');
  await target.settled();
  log.mockRestore();
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
])(
  'without authorize, a localhost URL counts only if the forwarded address is local: %s %s',
  async (name, value, status) => {
    const target = testEndpoint([], {}, { authorize: undefined as never });
    const response = await target.fetch(
      new Request('http://localhost:8787/v1/models', { headers: { [name]: value } }),
    );
    expect(response.status).toBe(status);
  },
);

test.each([
  ['*'],
  ['null'],
  ['app.test'],
  ['https://app.test/'],
  ['https://app.test/page'],
  ['https://APP.test'],
  ['https://app.test:443'],
  ['https://*.app.test'],
  [''],
])('cors rejects the origin %j', (origin) => {
  expect(() => testEndpoint([], {}, { cors: ['https://ok.test', origin] })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test.each([
  [{ limits: { bodyBytes: NaN } }],
  [{ limits: { bodyBytes: undefined } }],
  [{ limits: { messages: 0 } }],
  [{ limits: { toolResultChars: '1' } }],
  [{ limits: { outputTokens: -1 } }],
  [{ limits: { keepAliveMs: 0 } }],
  [{ llm: { models: [], upstream: () => ({}) } }],
])('createAgentHandler() rejects a limit that would have no effect: %j', (options) => {
  expect(() => testEndpoint([], {}, options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test.each([{ maxTokens: NaN }, { maxTokens: 0 }, { timeoutMs: NaN }, { timeoutMs: '5000' }])(
  'llmProxy() rejects a limit that would have no effect: %j',
  (limits) => {
    const options = { models: [], upstream: () => ({}), ...limits };
    expect(() => llmProxy(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  },
);

test('a preflight allows only listed origins, compared in full and without credentials', async () => {
  const target = testEndpoint([], {}, { cors: ['https://app.test', 'https://two.test:8443'] });
  const preflight = (origin: string): Promise<Response> =>
    target.fetch('/api/chat', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
  for (const origin of ['https://app.test', 'https://two.test:8443']) {
    const { headers } = await preflight(origin);
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(headers.get('vary')).toMatch(/origin/i);
  }
  const strange = [
    'http://app.test',
    'https://sub.app.test',
    'https://app.test:444',
    'https://app.test.evil.test',
    'https://evilapp.test',
    'null',
    'https://two.test',
  ];
  for (const origin of strange) {
    const preflighted = await preflight(origin);
    expect(preflighted.headers.get('access-control-allow-origin')).toBeNull();
    expect((await target.post('/api/run', {}, 'ann', { origin })).status).toBe(403);
  }
  expect([...(await preflight('https://app.test')).headers.keys()]).not.toContain(
    'access-control-allow-credentials',
  );
});

test.each(places)(
  '%s: streams, errors and unknown paths have the security headers, too',
  async (place) => {
    const bound = boundEndpoint(place, ['Hi.'], {}, { cors: ['https://app.test'] });
    const ui = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
    const answers = [
      await bound.post('/api/chat', { id: bound.id, messages: [ui] }),
      await bound.post('/api/chat', { id: bound.id, messages: [] }),
      await bound.get(`/api/chat/${bound.id}/stream`),
      await bound.get('/api/chats'),
      await bound.post(`/api/chat/${bound.id}/interrupt`, {}),
      await bound.fetch('/api/chat', {
        method: 'OPTIONS',
        headers: { origin: 'https://app.test', 'access-control-request-method': 'POST' },
      }),
      await bound.fetch('/api/chat', { method: 'PUT' }),
      await bound.get('/nowhere'),
      await bound.get('/v1/nowhere'),
      await bound.post('/llm/v1/chat/completions', {}),
      await bound.post('/api/chat', {}, ''),
      await bound.post('/api/chat', {}, 'ann', { origin: 'https://evil.test' }),
      await bound.fetch(`/api/chat/${bound.id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${bound.user}` },
      }),
    ];
    for (const answer of answers) {
      const { headers } = answer;
      expect(headers.get('x-content-type-options'), answer.url).toBe('nosniff');
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toMatch(/^no-(store|cache)$/);
      expect([...headers.keys()]).not.toContain('x-powered-by');
      await answer.text();
    }
  },
);

test.each([...postRoutes, '/api/chat/a/interrupt'])(
  '%s: the endpoint stops reading a body without a length at the limit',
  async (path) => {
    const llm = llmProxy({
      models: ['small'],
      upstream: () => ({ fetch: () => Promise.reject(new Error('asked')) }),
    });
    const target = testEndpoint([], {}, { limits: { bodyBytes: 1000 }, llm });
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => (pulls++, controller.enqueue(new Uint8Array(300).fill(32))),
    });
    const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' };
    const response = await target.fetch(path, { method: 'POST', headers, body });
    expect([response.status, await response.json()]).toMatchObject([
      413,
      { error: { code: 'PAYLOAD_TOO_LARGE' } },
    ]);
    expect(pulls).toBeLessThan(12);
  },
);

test('jwt() rejects a token whose key is not published, and fetches keys by https only', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'other', alg: 'ES256' };
  const send = (async () => Response.json({ keys: [jwk] })) as never;
  const token = await signed(privateKey, { alg: 'ES256' });
  const authorize = jwt({ jwksUrl: 'https://login.test/keys', issuer, audience, fetch: send });
  expect(await authorize(asks(`Bearer ${token}`), {})).toBeNull();
  expect(log).not.toHaveBeenCalled();
  const target = testEndpoint(
    [],
    {},
    { authorize: jwt({ jwksUrl: 'http://login.test/keys', issuer, audience, fetch: send }) },
  );
  expect((await target.get('/v1/models', token)).status).toBe(401);
  expect(String(log.mock.calls[0])).toContain('https');
  log.mockRestore();
});
