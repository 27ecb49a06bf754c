import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose';
import { afterEach, expect, test, vi } from 'vitest';
import { testEndpoint } from '../../test-support/endpoint.ts';
import { jwt } from './jwt.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';

const issuer = 'https://login.test/';
const audience = 'chat';
const minute = 60_000;

afterEach(() => void vi.restoreAllMocks());

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
let pulled = 0;
/** A body without an end. */
const endless = (): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull(controller) {
      pulled += 65_536;
      controller.enqueue(new Uint8Array(65_536));
    },
    cancel: () => void (cancelled += 1),
  });

const outages: readonly (readonly [string, Serve])[] = [
  ['refuses the connection', () => Promise.reject(new TypeError('connect ECONNREFUSED'))],
  ['answers 500', () => new Response('down', { status: 500 })],
  ['redirects', () => new Response(null, { status: 302, headers: { location: 'https://x.test' } })],
  ['answers with a page', () => new Response('<html>Maintenance</html>')],
  ['answers with other JSON', () => Response.json({ keys: 'none' })],
  ['answers with an empty list of keys', () => Response.json({ keys: [] })],
  ['answers with keys of no kind', () => Response.json({ keys: [{}, { kty: 'oct', k: 'YQ' }] })],
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
    pulled = 0;
    const one = await signer('k1');
    const { ask, counted } = open(serve, { timeoutMs: /never/.test(what) ? 20 : 5_000 });
    const response = await ask(one.token);
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({ error: { code: 'OVERLOADED' } });
    expect(counted).toEqual([]);
    expect(log).toHaveBeenCalledOnce();
    if (/endless|200 MB/.test(what)) expect(cancelled).toBe(1);
    // The bound, and what the stream reads ahead.
    expect(pulled).toBeLessThanOrEqual(262_144 + 2 * 65_536);
  },
);

test.each(outages.filter(([what]) => !what.includes('never')))(
  'if the key server %s, the last good keys serve, and unknown keys are no failed logins',
  async (what, serve) => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const clock = fakeClock();
    const [one, other] = [await signer('k1'), await signer('k2')];
    const { served, ask, counted } = open(keysOf(one));
    expect((await ask(one.token)).status).toBe(200);
    served.now = serve;
    await clock.advance(20 * minute);
    // A document with a broken key cannot be told from a rotation, so it ends the old keys.
    const isUnusable = what.includes('cannot be used');
    expect((await ask(one.token)).status).toBe(isUnusable ? 503 : 200);
    if (!isUnusable) expect((await ask(other.token)).status).toBe(503);
    expect(counted).toEqual(isUnusable ? ['ann'] : ['ann', 'ann']);
  },
);

test('an outage costs one read in ten seconds, and ends with the first good answer', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const clock = fakeClock();
  const one = await signer('k1');
  const { served, ask } = open(() => new Response('', { status: 500 }));
  for (let time = 0; time < 5; time += 1) expect((await ask(one.token)).status).toBe(503);
  expect(served.reads).toBe(1);
  served.now = keysOf(one);
  await clock.advance(11_000);
  expect((await ask(one.token)).status).toBe(200);
  expect(served.reads).toBe(2);
});

test('the last good keys serve for the stated time of an outage', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const clock = fakeClock();
  const [one, other] = [await signer('k1'), await signer('k2')];
  const { served, ask, counted } = open(keysOf(one), { keepKeysMs: 30 * minute });
  expect((await ask(one.token)).status).toBe(200);
  served.now = () => new Response('', { status: 500 });
  await clock.advance(29 * minute);
  expect((await ask(one.token)).status).toBe(200);
  // Whether a new key has come is not known during the outage.
  expect((await ask(other.token)).status).toBe(503);
  await clock.advance(2 * minute);
  expect((await ask(one.token)).status).toBe(503);
  expect(counted).toEqual(['ann', 'ann']);
});

test('a jump of the date makes no key older, and no outage longer', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const clock = fakeClock();
  const one = await signer('k1');
  const { served, ask } = open(keysOf(one), { keepKeysMs: 30 * minute });
  expect((await ask(one.token)).status).toBe(200);
  served.now = () => new Response('', { status: 500 });
  clock.jumpDate(60 * minute);
  expect((await ask(one.token)).status).toBe(200);
  expect(served.reads).toBe(1);
  await clock.advance(31 * minute);
  expect((await ask(one.token)).status).toBe(503);
  served.now = keysOf(one);
  clock.jumpDate(-60 * minute);
  await clock.advance(11_000);
  expect((await ask(one.token)).status).toBe(200);
});

test('a new key is found at once, and tokens with unknown keys cause at most one read in 30 seconds', async () => {
  const clock = fakeClock();
  const [one, next, forged] = [await signer('k1'), await signer('k2'), await signer('k3')];
  const { served, ask, counted } = open(keysOf(one));
  expect((await ask(one.token)).status).toBe(200);
  served.now = keysOf(one, next);
  await clock.advance(31_000);
  expect((await ask(next.token)).status).toBe(200);
  expect(served.reads).toBe(2);
  for (let time = 0; time < 3; time += 1) expect((await ask(forged.token)).status).toBe(401);
  expect(served.reads).toBe(2);
  expect(counted.filter((key) => key.startsWith('login'))).toHaveLength(3);
});

/** Waits until the endpoint reads the keys, so that further requests meet an open read. */
async function untilReading(served: { readonly reads: number }, reads: number): Promise<void> {
  await expect.poll(() => served.reads).toBe(reads);
}

interface Gate<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

function gateOf<T>(): Gate<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

test('concurrent requests share one read', async () => {
  const one = await signer('k1');
  const gate = gateOf<void>();
  const { served, ask, counted } = open(async (signal) => {
    await gate.promise;
    return keysOf(one)(signal);
  });
  const answers = Array.from({ length: 20 }, () => ask(one.token));
  await untilReading(served, 1);
  gate.resolve();
  for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
  expect(served.reads).toBe(1);
  expect(counted).toHaveLength(20);
});

test('concurrent requests share one failed read', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const one = await signer('k1');
  const gate = gateOf<Response>();
  const { served, ask, counted } = open(() => gate.promise);
  const answers = Array.from({ length: 20 }, () => ask(one.token));
  await untilReading(served, 1);
  gate.resolve(new Response('', { status: 500 }));
  for (const answer of await Promise.all(answers)) expect(answer.status).toBe(503);
  expect(served.reads).toBe(1);
  expect(counted).toEqual([]);
});

test('while one request reads the keys again, the others use the old ones without waiting', async () => {
  const clock = fakeClock();
  const one = await signer('k1');
  const { served, ask } = open(keysOf(one));
  expect((await ask(one.token)).status).toBe(200);
  const gate = gateOf<Response>();
  served.now = () => gate.promise;
  await clock.advance(11 * minute);
  const reader = ask(one.token);
  await clock.waitFor(() => expect(served.reads).toBe(2));
  for (let time = 0; time < 5; time += 1) expect((await ask(one.token)).status).toBe(200);
  expect(served.reads).toBe(2);
  gate.resolve(await keysOf(one)(new AbortController().signal));
  expect((await reader).status).toBe(200);
});

test('if the runtime ends the request that reads the keys, a waiting request reads them', async () => {
  const one = await signer('k1');
  const { served, ask } = open(() => new Promise(() => {}), { timeoutMs: 40 });
  // The runtime also drops the timers of such a request.
  vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(new AbortController().signal);
  void ask(one.token);
  await untilReading(served, 1);
  served.now = keysOf(one);
  const answers = await Promise.all([ask(one.token), ask(one.token), ask(one.token)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(served.reads).toBe(2);
});

test.each([
  { timeoutMs: 0 },
  { timeoutMs: Number.NaN },
  { timeoutMs: 1e12 },
  { keepKeysMs: -1 },
  { keepKeysMs: 'long' as never },
])('jwt() refuses %j', (options) => {
  expect(() => open(() => Response.error(), options)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('a jwksUrl that is no URL is refused with a reason in the log', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const one = await signer('k1');
  const authorize = jwt({ jwksUrl: 'login', issuer, audience });
  const target = testEndpoint([], {}, { authorize });
  expect((await target.get('/v1/models', one.token)).status).toBe(401);
  expect(String(log.mock.calls[0])).toContain('jwksUrl');
});
