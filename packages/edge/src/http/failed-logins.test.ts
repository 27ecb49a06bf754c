import { expect, test } from 'vitest';
import type { RateLimiter, AgentHandlerOptions } from '../settings/handler-options.ts';
import { testEndpoint } from '../../test-support/endpoint.ts';
import { bearerToken } from './bearer-token.ts';

const token = 'the-token-of-ann-long-enough';

/** Returns a limiter that allows `most` requests of each key, and the keys that it has counted. */
function limiterOf(most: number) {
  const keys: string[] = [];
  const limiter: RateLimiter = {
    limit: async ({ key }) => {
      keys.push(key);
      return { success: keys.filter((each) => each === key).length <= most };
    },
  };
  return { keys, limiter };
}

function endpointOf(most: number, options: Partial<AgentHandlerOptions> = {}) {
  const { keys, limiter } = limiterOf(most);
  const target = testEndpoint(
    ['Hello.'],
    {},
    {
      authorize: bearerToken(() => ({ ann: token })),
      rateLimit: () => limiter,
      ...(options as object),
    },
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
    const response = await target.fetch(`https://edge.test${path}`, { headers });
    return [response.status, response.headers.get('retry-after')];
  };
  return { keys, ask, target };
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

test('a failed login without an address is counted, whatever address a forged header claims', async () => {
  const { keys, target } = endpointOf(9);
  for (const headers of [
    {},
    { 'x-forwarded-for': '198.51.100.1' },
    { 'x-real-ip': '198.51.100.2' },
  ])
    await target.fetch('https://edge.test/v1/models', { headers });
  expect(keys).toEqual(['login:', 'login:', 'login:']);
});

test.for<readonly [string, Partial<AgentHandlerOptions>]>([
  ['that throws', { authorize: () => Promise.reject(new Error('down')) }],
  ['that names no user', { authorize: () => ({ user: '' }) }],
  ['that is missing', { authorize: undefined as never }],
])('the limiter counts a failed login with an `authorize` %s', async ([, options]) => {
  const { ask, keys } = endpointOf(0, options);
  expect((await ask('Bearer x', '203.0.113.9'))[0]).toBe(429);
  expect(keys).toEqual(['login:203.0.113.9']);
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
