import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose';
import { afterEach, expect, test, vi } from 'vitest';
import { testEndpoint } from '../../test-support/endpoint.ts';
import { jwt } from '../jwt.ts';

const issuer = 'https://login.test/';
const audience = 'chat';
const minute = 60_000;

afterEach(() => void vi.useRealTimers());

interface Signer {
  readonly jwk: JWK;
  readonly token: string;
}

async function signer(kid: string): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: 'ES256' };
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', kid })
    .setSubject('ann')
    .setIssuer(issuer)
    .setAudience(audience)
    .setExpirationTime('1 day')
    .sign(privateKey);
  return { jwk, token };
}

type Serve = (signal: AbortSignal) => Response | Promise<Response>;

/** Opens an endpoint whose keys come from `served.now`, and counts reads and failed logins. */
function open(
  first: Serve,
  options: { readonly keepKeysMs?: number; readonly timeoutMs?: number } = {},
) {
  const served = { now: first, reads: 0 };
  const counted: string[] = [];
  const authorize = jwt({
    jwksUrl: 'https://login.test/keys',
    issuer,
    audience,
    ...options,
    fetch: (async (_url: string, { signal }: { readonly signal: AbortSignal }) => {
      served.reads += 1;
      return served.now(signal);
    }) as never,
  });
  const rateLimit = () => ({
    limit: async ({ key }: { readonly key: string }) => {
      counted.push(key);
      return { success: true };
    },
  });
  const target = testEndpoint([], {}, { authorize, rateLimit });
  const ask = (token: string): Promise<Response> => target.get('/v1/models', token);
  return { served, counted, ask };
}

const keysOf =
  (...signers: readonly Signer[]): Serve =>
  () =>
    Response.json({ keys: signers.map(({ jwk }) => jwk) });

let cancelled = 0;
/** A body without an end. */
const endless = (): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: () => void (cancelled += 1),
  });

const outages: readonly (readonly [string, Serve])[] = [
  ['refuses the connection', () => Promise.reject(new TypeError('connect ECONNREFUSED'))],
  ['answers 500', () => new Response('down', { status: 500 })],
  ['redirects', () => new Response(null, { status: 302, headers: { location: 'https://x.test' } })],
  ['answers with a page', () => new Response('<html>Maintenance</html>')],
  ['answers with other JSON', () => Response.json({ keys: 'none' })],
  [
    'answers with a key that cannot be used',
    () => Response.json({ keys: [{ kty: 'EC', crv: 'P-256', kid: 'k1', alg: 'ES256' }] }),
  ],
  ['answers with an endless body', () => new Response(endless())],
  [
    'declares 200 MB',
    () => new Response(endless(), { headers: { 'content-length': '200000000' } }),
  ],
  ['never answers', () => new Promise(() => {})],
  [
    'never ends its answer',
    () =>
      new Response(
        new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode('{"keys":')) }),
      ),
  ],
];

test.each(outages)(
  'if the key server %s, users get 503 and no failed login is counted',
  async (what, serve) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    cancelled = 0;
    const one = await signer('k1');
    const { ask, counted } = open(serve, { timeoutMs: /never/.test(what) ? 20 : 5_000 });
    const response = await ask(one.token);
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({ error: { code: 'OVERLOADED' } });
    expect(counted).toEqual([]);
    expect(log).toHaveBeenCalledOnce();
    if (/endless|200 MB/.test(what)) expect(cancelled).toBe(1);
  },
);

test('an outage costs one read in ten seconds, and ends with the first good answer', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.useFakeTimers({ toFake: ['Date'] });
  const one = await signer('k1');
  const { served, ask } = open(() => new Response('', { status: 500 }));
  for (let time = 0; time < 5; time += 1) expect((await ask(one.token)).status).toBe(503);
  expect(served.reads).toBe(1);
  served.now = keysOf(one);
  vi.setSystemTime(Date.now() + 11_000);
  expect((await ask(one.token)).status).toBe(200);
  expect(served.reads).toBe(2);
});

test('the last good keys serve for the stated time of an outage', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.useFakeTimers({ toFake: ['Date'] });
  const [one, other] = [await signer('k1'), await signer('k2')];
  const { served, ask, counted } = open(keysOf(one), { keepKeysMs: 30 * minute });
  expect((await ask(one.token)).status).toBe(200);
  served.now = () => new Response('', { status: 500 });
  vi.setSystemTime(Date.now() + 29 * minute);
  expect((await ask(one.token)).status).toBe(200);
  // Whether a new key has come is not known during the outage.
  expect((await ask(other.token)).status).toBe(503);
  vi.setSystemTime(Date.now() + 2 * minute);
  expect((await ask(one.token)).status).toBe(503);
  expect(counted).toEqual(['ann', 'ann']);
});

test('a new key is found at once, and tokens with unknown keys cause at most one read in 30 seconds', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const [one, next, forged] = [await signer('k1'), await signer('k2'), await signer('k3')];
  const { served, ask, counted } = open(keysOf(one));
  expect((await ask(one.token)).status).toBe(200);
  served.now = keysOf(one, next);
  vi.setSystemTime(Date.now() + 31_000);
  expect((await ask(next.token)).status).toBe(200);
  expect(served.reads).toBe(2);
  for (let time = 0; time < 3; time += 1) expect((await ask(forged.token)).status).toBe(401);
  expect(served.reads).toBe(2);
  expect(counted.filter((key) => key.startsWith('login'))).toHaveLength(3);
});
