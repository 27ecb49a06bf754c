import { expect, test, vi } from 'vitest';
import type { AgentHandlerOptions, RateLimiter } from '../settings/handler-options.ts';
import { bearerToken } from './bearer-token.ts';
import { atCloudflare, bindings, testEndpoint } from '../../test-support/endpoint.ts';

/**
 * Counts the requests of each key, as the platform's rate limiter does, and allows `most`. The
 * platform's limiter does not tell `retryAfterMs`.
 */
function limiterOf(most: number, retryAfterMs?: number): RateLimiter & { readonly keys: string[] } {
  const keys: string[] = [];
  return {
    keys,
    limit: async ({ key }) => {
      keys.push(key);
      const success = keys.filter((each) => each === key).length <= most;
      return { success, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    },
  };
}

test('the endpoint counts the requests of each user with a limiter from a binding or from the options', async () => {
  const bound = limiterOf(2);
  const given = limiterOf(2);
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

test.for([10_000, 3_600_000])(
  'a refused request has the `retry-after` of its limiter: %i ms',
  async (retryAfterMs) => {
    const limiter = limiterOf(0, retryAfterMs);
    const target = testEndpoint([], {}, { rateLimit: () => limiter });
    const refused = await target.get('/v1/models', 'ann');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([
      429,
      String(retryAfterMs / 1000),
    ]);
  },
);

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

const token = 'the-token-of-ann-long-enough';

function endpointOf(
  most: number,
  options: Partial<AgentHandlerOptions> = {},
  env: object = bindings,
) {
  const limiter = limiterOf(most);
  const target = testEndpoint(
    ['Hello.'],
    {},
    {
      authorize: bearerToken(() => ({ ann: token })),
      rateLimit: () => limiter,
      ...(options as object),
    },
    env,
  );
  const ask = async (
    authorization: string | undefined,
    address?: string,
    path = '/v1/models',
  ): Promise<readonly unknown[]> => {
    const headers = {
      ...(authorization !== undefined && { authorization }),
      ...(address !== undefined && { 'cf-connecting-ip': address }),
    };
    const request = new Request(`https://edge.test${path}`, { headers });
    const response = await target.fetch(atCloudflare(request));
    return [response.status, response.headers.get('retry-after')];
  };
  return { keys: limiter.keys, ask, target };
}

test('failed logins of one address share a limit, and then get 429', async () => {
  const { ask, keys } = endpointOf(3);
  for (const attempt of ['Bearer wrong', undefined, `Basic ${token}`])
    expect(await ask(attempt, '203.0.113.9')).toEqual([401, null]);
  expect(await ask('Bearer wrong again', '203.0.113.9')).toEqual([429, '60']);
  expect(await ask('Bearer wrong', '203.0.113.10')).toEqual([401, null]);
  expect(keys).toEqual([
    ...Array.from({ length: 4 }, () => 'login:203.0.113.9'),
    'login:203.0.113.10',
  ]);
});

test.for(['login:203.0.113.9', 'operator:Bo', 'user:ann'])(
  'a user named %s has a counter of their own',
  async (user) => {
    const { ask, keys } = endpointOf(2, { authorize: () => ({ user }) });
    await ask(undefined, '203.0.113.9');
    expect(keys).toEqual([`user:${user}`]);
  },
);

test('failed logins do not lock out a user at the same address, and do not use up that user’s limit', async () => {
  const { ask, keys } = endpointOf(1);
  await ask('Bearer wrong', '203.0.113.9');
  expect((await ask('Bearer wrong', '203.0.113.9'))[0]).toBe(429);
  expect((await ask(`Bearer ${token}`, '203.0.113.9'))[0]).toBe(200);
  expect(keys.at(-1)).toBe('ann');
});

test('a failed login without an address is counted, whatever address a forged header claims', async () => {
  const { keys, target } = endpointOf(9);
  for (const headers of [
    {},
    { 'x-forwarded-for': '198.51.100.1' },
    { 'x-real-ip': '198.51.100.2' },
    { 'cf-connecting-ip': '198.51.100.3' },
  ])
    await target.fetch('https://edge.test/v1/models', { headers });
  expect(keys).toEqual(['login:', 'login:', 'login:', 'login:']);
});

test.for<readonly [string, (address: string) => object]>([
  ['Node', (remoteAddress) => ({ incoming: { socket: { remoteAddress } } })],
  ['Bun', (address) => ({ requestIP: () => ({ address }) })],
  ['Deno', (hostname) => ({ remoteAddr: { hostname } })],
])('in %s, a failed login counts for the address of the connection', async ([, envOf]) => {
  const seen: string[] = [];
  for (const address of ['203.0.113.9', '::ffff:203.0.113.9', '2001:db8:1:2::1']) {
    const { keys, target } = endpointOf(9, {}, { ...bindings, ...envOf(address) });
    const headers = { 'cf-connecting-ip': '198.51.100.3' };
    await target.fetch('https://edge.test/v1/models', { headers });
    seen.push(...keys);
  }
  expect(seen).toEqual(['login:203.0.113.9', 'login:203.0.113.9', 'login:2001:db8:1:2']);
});

test('a failed login gets 401 without a limiter, and requests to /healthz are not counted', async () => {
  const { ask } = endpointOf(0, { rateLimit: () => undefined });
  expect(await ask('Bearer wrong')).toEqual([401, null]);
  const other = endpointOf(0);
  expect([await other.ask(undefined, '203.0.113.9', '/healthz'), other.keys]).toEqual([
    [200, null],
    [],
  ]);
});

test.for([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
  ['2001:db8::1', '2001:db8:0:0:9::1', true],
  ['::1', '0:0:0:0:5::', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['2001:db8::', '2001:db9::', false],
  ['::ffff:203.0.113.9', '::ffff:203.0.113.10', false],
] as const)('failed logins of %s and %s share a limit: %s', async ([one, other, together]) => {
  const { ask, keys } = endpointOf(9);
  await ask(undefined, one);
  await ask(undefined, other);
  expect(keys[0] === keys[1]).toBe(together);
});

test.for(['/api/chats', '/api/chat/a/messages', '/v1/models'])(
  'a failed login at %s is counted',
  async (path) => {
    const { ask, keys } = endpointOf(0);
    expect((await ask(undefined, '203.0.113.9', path))[0]).toBe(429);
    expect(keys).toEqual(['login:203.0.113.9']);
  },
);

test.for<readonly [string, Partial<AgentHandlerOptions>]>([
  ['that throws', { authorize: () => Promise.reject(new Error('down')) }],
  ['that names no user', { authorize: () => ({ user: '' }) }],
  ['that is missing', { authorize: undefined as never }],
])('the limiter counts a failed login with an `authorize` %s', async ([, options]) => {
  const { ask, keys } = endpointOf(0, options);
  expect((await ask('Bearer x', '203.0.113.9'))[0]).toBe(429);
  expect(keys).toEqual(['login:203.0.113.9']);
});
