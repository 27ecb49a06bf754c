import { SignJWT, exportJWK, generateKeyPair, type JWTPayload } from 'jose';
import { expect, test, vi } from 'vitest';
import { asks, testEndpoint } from '../../test-support/endpoint.ts';
import { jwt } from './jwt.ts';

const issuer = 'https://login.test/';

const audience = 'chat';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

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
