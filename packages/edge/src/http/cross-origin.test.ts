import { expect, test } from 'vitest';
import { testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';
import { endpoint } from '../../test-support/tool-endpoint.ts';
import { refusalOf, spyOn } from '../../test-support/refusals.ts';

function preflight(target: TestEndpoint, origin: string, path = '/api/chat'): Promise<Response> {
  return target.fetch(path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });
}

test('only pages of listed origins can read the answers', async () => {
  const target = endpoint([], { cors: ['https://app.test'] });
  const allowed = await preflight(target, 'https://app.test');
  expect(allowed.status).toBe(204);
  expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.test');
  expect(allowed.headers.get('access-control-allow-headers')).toBe('authorization,content-type');
  expect(
    (await preflight(target, 'https://evil.test')).headers.get('access-control-allow-origin'),
  ).toBeNull();
  // A page of a listed origin can also read an error.
  const refused = await target.post('/api/chat', {}, '', { origin: 'https://app.test' });
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([
    401,
    'https://app.test',
  ]);
  expect(
    (await endpoint([]).post('/api/chat', {}, '', { origin: 'https://app.test' })).headers.has(
      'access-control-allow-origin',
    ),
  ).toBe(false);
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

test('a preflight allows only listed origins, compared in full and without credentials', async () => {
  const target = testEndpoint([], {}, { cors: ['https://app.test', 'https://two.test:8443'] });
  for (const origin of ['https://app.test', 'https://two.test:8443']) {
    const { headers } = await preflight(target, origin);
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
    const preflighted = await preflight(target, origin);
    expect(preflighted.headers.get('access-control-allow-origin')).toBeNull();
    expect((await target.post('/api/run', {}, 'ann', { origin })).status).toBe(403);
  }
  expect([...(await preflight(target, 'https://app.test')).headers.keys()]).not.toContain(
    'access-control-allow-credentials',
  );
});

test.each([
  ['without cors', {}],
  ['with another origin in cors', { cors: ['https://app.test'] }],
])('%s, the preflight of an unlisted page names the option to set', async (_what, options) => {
  const log = spyOn('warn');
  const target = testEndpoint([], {}, options);
  for (const path of ['/api/chat', '/api/chats', '/v1/chat/completions', '/api/chat/a/messages']) {
    const [status, error] = await refusalOf(preflight(target, 'https://my.test:8443', path));
    expect([status, error.code]).toEqual([403, 'UNAUTHORIZED']);
    expect(error.message).toContain('add "https://my.test:8443" to the option cors');
  }
  expect(
    (await target.post('/api/run', {}, 'ann', { origin: 'https://my.test:8443' })).status,
  ).toBe(403);
  // Once for the origin, not once for each request.
  expect(log.mock.calls).toEqual([
    [expect.stringContaining('add "https://my.test:8443" to the option cors')],
  ]);
  await preflight(target, 'https://two.test');
  expect(log).toHaveBeenCalledTimes(2);
});

test('a local page on another port gets the reason in its preflight, too', async () => {
  const log = spyOn('warn');
  const target = testEndpoint([], {}, { authorize: undefined as never });
  const [status, error] = await refusalOf(
    preflight(target, 'http://localhost:5173', 'http://localhost:8787/api/chat'),
  );
  expect([status, error.message]).toEqual([403, expect.stringContaining('http://localhost:5173')]);
  expect(log).toHaveBeenCalledTimes(1);
  const listed = testEndpoint([], {}, { cors: ['http://localhost:5173'] });
  const allowed = await preflight(
    listed,
    'http://localhost:5173',
    'http://localhost:8787/api/chat',
  );
  expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([
    204,
    'http://localhost:5173',
  ]);
});

test.each(['null', 'chrome-extension://abcdefgh', 'https://*.test', 'not an origin', ''])(
  'a page of origin %j, which cors cannot list, is told to use http or https',
  async (origin) => {
    spyOn('warn');
    const [status, error] = await refusalOf(preflight(testEndpoint([]), origin));
    expect([status, error.message]).toEqual([403, expect.stringContaining('http or https')]);
  },
);

test('senders that invent origins cannot fill the log', async () => {
  const log = spyOn('warn');
  const target = testEndpoint([]);
  for (let index = 0; index < 200; index++) await preflight(target, `https://p${index}.test`);
  expect(log).toHaveBeenCalledTimes(50);
});

test('the answer to a listed origin tells caches that it depends on the origin', async () => {
  const target = testEndpoint([], {}, { cors: ['https://app.test'] });
  for (const headers of [{}, { origin: 'https://app.test' }]) {
    const answer = await target.fetch('/healthz', { headers });
    expect(answer.headers.get('vary')).toMatch(/origin/i);
  }
});
