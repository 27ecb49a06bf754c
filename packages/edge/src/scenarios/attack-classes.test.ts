import { tool } from '@isoloop/core';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { boundEndpoint, places } from '../../test-support/both-bindings.ts';
import { testEndpoint } from '../../test-support/endpoint.ts';
import { jwt } from '../jwt/jwt.ts';

const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
const posts: readonly (readonly [path: string, body: object])[] = [
  ['/api/chat', { id: 's', messages: [message] }],
  ['/api/run', { sessionId: 's', input: 'Hi' }],
  ['/v1/chat/completions', { model: 'offline', messages: [{ role: 'user', content: 'Hi' }] }],
];
const pay = tool({
  name: 'pay',
  description: '',
  input: { type: 'object' },
  execute: () => 'paid',
});

test.for(posts)(
  '%s: keys such as __proto__ in a body change no prototype',
  async ([path, body]) => {
    const poison = '{"isAdmin":true,"user":"bob","needsApproval":false}';
    const text = JSON.stringify(body);
    const bodies = [
      text.replace(/}$/, `,"__proto__":${poison}}`),
      text.replace(/}$/, `,"constructor":{"prototype":${poison}}}`),
      text.replace('"Hi"', `{"__proto__":${poison}}`),
      text.replace(/^{/, `{"__proto__":${poison},`),
    ];
    for (const each of bodies) {
      const response = await testEndpoint(['Hello.']).post(path, each);
      expect([each, response.status < 500]).toEqual([each, true]);
      await response.text();
      expect(Object.keys(Object.prototype)).toEqual([]);
      expect([{}, []].map((value) => (value as { isAdmin?: unknown }).isAdmin)).toEqual([
        undefined,
        undefined,
      ]);
    }
  },
);

test.for(places)(
  '%s: no session id, in any encoding, reaches a session of another user',
  async (place) => {
    const bound = boundEndpoint(place, ['Hello.']);
    await (await bound.post('/api/chat', { id: bound.id, messages: [message] })).text();
    const { id, user } = bound;
    const ids = [
      `..%2F${user}%2F${id}`,
      `%2e%2e%2f${user}%2f${id}`,
      `${user}%2F${id}`,
      `..%5C${user}%5C${id}`,
      `${id}%00`,
      `${id}%20`,
      `${id}%0a`,
      `%EF%BB%BF${id}`,
      `${id}%E2%80%8B`,
      `%252e%252e%252f${user}%252f${id}`,
      '%2e%2e',
      'x'.repeat(129),
      '%ff',
      '%',
    ];
    for (const each of ids) {
      const response = await bound.get(`/api/chat/${each}/messages`, 'mallory');
      const text = await response.text();
      expect([each, response.status < 500, text.includes('Hello.')]).toEqual([each, true, false]);
    }
    const own = await bound.get(`/api/chat/${id}/messages`, 'mallory');
    expect(await own.text()).not.toContain('Hello.');
  },
);

test.for(['pay', '__proto__', 'constructor', 'hasOwnProperty'])(
  'a client’s tool with the name %s cannot replace a tool of the agent',
  async (name) => {
    const call = { toolCalls: [{ id: 'c1', name: 'pay', input: {} }] };
    const target = testEndpoint([call, 'Paid.'], { tools: [pay] });
    const response = await target.post('/v1/chat/completions', {
      model: 'offline',
      messages: [{ role: 'user', content: 'Pay' }],
      tools: [{ type: 'function', function: { name, parameters: { type: 'object' } } }],
    });
    const text = await response.text();
    expect(response.status).toBe(name === 'pay' ? 400 : 200);
    // The agent's own tool ran: the client gets the answer, not the call.
    expect(text.includes('tool_calls":[')).toBe(false);
  },
);

test.for<readonly [string, Record<string, string>]>([
  ['plain text', { 'content-type': 'text/plain' }],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['a multipart form', { 'content-type': 'multipart/form-data; boundary=x' }],
  ['a type that begins like JSON', { 'content-type': 'application/jsonp' }],
  ['JSON behind plain text', { 'content-type': 'text/plain; application/json' }],
  ['the origin of another site', { origin: 'https://evil.test' }],
  ['the origin null, as from a sandboxed frame', { origin: 'null' }],
  ['an origin that begins like ours', { origin: 'https://edge.test.evil.test' }],
])('a page of another site cannot post with %s', async ([, headers]) => {
  for (const [path, body] of posts) {
    const target = testEndpoint(['Hello.']);
    const response = await target.post(path, body, 'ann', headers);
    await response.text();
    expect([path, response.status >= 400 && response.status < 500]).toEqual([path, true]);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect(target.model.requests).toEqual([]);
  }
});

test('a JSON Web Token with its own key, another algorithm or no signature is rejected', async () => {
  const mine = await generateKeyPair('RS256', { extractable: true });
  const theirs = await generateKeyPair('RS256', { extractable: true });
  const published = { keys: [{ ...(await exportJWK(mine.publicKey)), kid: 'k', alg: 'RS256' }] };
  const asked: string[] = [];
  const authorize = jwt({
    jwksUrl: 'https://issuer.test/keys',
    issuer: 'https://issuer.test/',
    audience: 'chat',
    fetch: async (url) => (asked.push(String(url)), Response.json(published)),
  });
  const sign = (header: object, key: CryptoKey): Promise<string> =>
    new SignJWT({ sub: 'ann' })
      .setProtectedHeader({ alg: 'RS256', kid: 'k', ...header })
      .setIssuer('https://issuer.test/')
      .setAudience('chat')
      .setExpirationTime('1h')
      .sign(key);
  const userOf = (token: string): Promise<unknown> =>
    Promise.resolve(
      authorize(
        new Request('https://edge.test/', { headers: { authorization: `Bearer ${token}` } }),
        {},
      ),
    );
  expect(await userOf(await sign({}, mine.privateKey))).toEqual({ user: 'ann' });
  const own = await exportJWK(theirs.publicKey);
  const forged = await Promise.all([
    sign({ jwk: own }, theirs.privateKey),
    sign({ jku: 'https://evil.test/keys' }, theirs.privateKey),
    sign({ x5u: 'https://evil.test/keys' }, theirs.privateKey),
    sign({ kid: '../../evil' }, theirs.privateKey),
  ]);
  const [head, payload] = (await sign({}, mine.privateKey)).split('.') as [string, string];
  const none = ['none', 'None', 'NONE', '', 'HS256'].map(
    (alg) => `${btoa(JSON.stringify({ alg, kid: 'k' })).replaceAll('=', '')}.${payload}.`,
  );
  for (const token of [...forged, ...none, `${head}.${payload}.`, `${head}.${payload}`])
    expect([token, await userOf(token)]).toEqual([token, null]);
  expect(new Set(asked)).toEqual(new Set(['https://issuer.test/keys']));
});
