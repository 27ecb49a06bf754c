import { AgentError } from '@isoloop/core';
import { mcpTools } from '@isoloop/mcp';
import { expect, test } from 'vitest';
import { publicFetch } from './public-fetch.ts';

/** Fakes the internet: returns the response of each URL and records the requests. */
function internet(answers: Readonly<Record<string, Response>> = {}) {
  const seen: Request[] = [];
  const fetchIt = (async (request: Request) => {
    seen.push(request);
    return answers[request.url] ?? new Response('ok');
  }) as unknown as typeof fetch;
  return { seen, fetch: fetchIt };
}

const to = (location: string, status = 302): Response =>
  new Response(null, { status, headers: { location } });

const hidden = [
  // The local machine, in many spellings.
  'localhost',
  'LOCALHOST',
  'localhost.',
  'localhost..',
  'a.localhost',
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  '127.255.255.254',
  '0.0.0.0',
  '0',
  '１２７.０.０.１',
  '①②⑦.⓪.⓪.①',
  '%31%32%37.0.0.1',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[0000::0001]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b:1::1]',
  '[2002:7f00:1::]',
  // Private and shared networks.
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '3232235521',
  '100.64.0.1',
  '198.18.0.1',
  '192.0.0.8',
  '[fc00::1]',
  '[fd12:3456:789a::1]',
  '[fec0::1]',
  '[::ffff:10.0.0.1]',
  '[64:ff9b::a00:1]',
  '[2002:a00:1::]',
  // Link-local addresses and metadata services.
  '169.254.169.254',
  '169.254.0.1',
  '0xa9fea9fe',
  '2852039166',
  '[fe80::1]',
  '[::ffff:169.254.169.254]',
  '[fd00:ec2::254]',
  '100.100.100.200',
  '168.63.129.16',
  'metadata.google.internal',
  'METADATA.GOOGLE.INTERNAL.',
  'metadata',
  'kubernetes.default.svc.cluster.local',
  // Addresses that no public host has.
  '224.0.0.1',
  '255.255.255.255',
  '240.0.0.1',
  '192.0.2.1',
  '[ff02::1]',
  '[2001:db8::1]',
  '[2001::1]',
  // Names that resolve to such addresses, and names in local networks.
  '127.0.0.1.nip.io',
  '10-0-0-1.sslip.io',
  'app.192.168.1.1.nip.io',
  '7f000001.nip.io',
  '--1.sslip.io',
  'localtest.me',
  'foo.localtest.me',
  'router.lan',
  'intranet',
  'db.corp',
  'printer.local',
  'localhost.localdomain',
  'LOCALHOST.LOCALDOMAIN.',
  'host.localdomain',
  'kubernetes.default.svc',
  'api.team.svc',
  'web.service.consul',
  'db.node.dc1.consul',
  'vcap.me',
  'a.vcap.me',
  'VCAP.me.',
  'vcap\u3002me',
  'lacolhost.com',
  '7f000001.c0a80001.rbndr.us',
  'metadata.tencentyun.com',
  'host.docker.internal',
  // Names with an empty part, which resolvers may read in different ways.
  'example.com..',
  'example.com...',
  'example..com',
  '.example.com',
  '127.0.0.1..',
  'vcap.me..',
  // Address ranges with a special purpose.
  '192.31.196.1',
  '192.31.196.255',
  '192.52.193.1',
  '192.175.48.6',
  '[2620:4f:8000::]',
  '[2620:4f:8000:ffff::1]',
  '[::ffff:192.31.196.1]',
  '[64:ff9b::c01f:c401]',
  '[64:ff9b:0:1::808:808]',
  '[2001:4:112::1]',
  '[5f00::1]',
  '[3fff:fff::1]',
  '[100::1]',
  'nas.home.arpa',
  'localhost6.localdomain6',
  'kubernetes.default',
  'metadata.goog',
  'a.localhost.direct',
  'a.lndo.site',
  'a.ddev.site',
];

test.each(hidden)('publicFetch() never requests %s, directly or after a redirect', async (host) => {
  const direct = internet();
  await expect(
    publicFetch({ fetch: direct.fetch, http: true })(`http://${host}/latest/meta-data`),
  ).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
  expect(direct.seen).toEqual([]);
  const hop = internet({ 'https://example.com/': to(`http://${host}/`) });
  await expect(
    publicFetch({ fetch: hop.fetch, http: true })('https://example.com/'),
  ).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect(hop.seen.map(({ url }) => url)).toEqual(['https://example.com/']);
});

test.each([
  'https://example.com/',
  'https://1.1.1.1/',
  'https://8.8.8.8/',
  'https://172.15.0.1/',
  'https://172.32.0.1/',
  'https://100.128.0.1/',
  'https://192.169.0.1/',
  'https://[2606:4700:4700::1111]/',
  'https://[64:ff9b::101:101]/',
  'https://[::ffff:1.1.1.1]/',
  'https://localhost.example.com/',
  'https://internal.example.com/',
  'https://v1.2.3.example.com/',
  'https://example.com./',
  'https://svc.example.com/',
  'https://consul.example.com/',
  'https://myvcap.me/',
  'https://192.31.195.255/',
  'https://192.31.197.0/',
  'https://[2620:4f:7fff::1]/',
  'https://[2620:4f:8001::1]/',
  'https://xn--bcher-kva.example/',
  'https://example.com:8443/',
])('publicFetch() requests %s', async (url) => {
  const { seen, fetch } = internet();
  expect(await (await publicFetch({ fetch })(url)).text()).toBe('ok');
  expect(seen[0]!.redirect).toBe('manual');
});

test.each([
  'http://example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'data:text/plain,x',
  'https://ann:secret@example.com/',
  'https://example.com@127.0.0.1/',
  'https://example.com:22/',
  'https://example.com:6379/',
])('publicFetch() rejects %s', async (url) => {
  const { seen, fetch } = internet();
  const failure = (await publicFetch({ fetch })(url).catch((error: unknown) => error)) as Error;
  expect(failure).toBeInstanceOf(Error);
  expect(failure.message).not.toContain('secret');
  expect(seen).toEqual([]);
});

test('publicFetch() follows redirects, checks each address, and limits the number of redirects', async () => {
  const { seen, fetch } = internet({
    'https://a.example/': to('https://b.example/x'),
    'https://b.example/x': to('/y'),
    'https://b.example/y': new Response('there'),
    'https://loop.example/': to('/'),
  });
  expect(await (await publicFetch({ fetch })('https://a.example/')).text()).toBe('there');
  expect(seen.map(({ url }) => url)).toEqual([
    'https://a.example/',
    'https://b.example/x',
    'https://b.example/y',
  ]);
  await expect(publicFetch({ fetch, redirects: 3 })('https://loop.example/')).rejects.toThrow(
    'more than 3 times',
  );
  expect(seen.length).toBe(7);
  await expect(
    publicFetch({ fetch })('https://a.example/', { redirect: 'error' }),
  ).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect((await publicFetch({ fetch })('https://a.example/', { redirect: 'manual' })).status).toBe(
    302,
  );
});

test('publicFetch() sends no credentials to another origin, and changes or repeats a POST as browsers do', async () => {
  const run = async (status: number, location: string): Promise<Request> => {
    const { seen, fetch } = internet({ 'https://a.example/': to(location, status) });
    await publicFetch({ fetch })('https://a.example/', {
      method: 'POST',
      headers: {
        authorization: 'Bearer x',
        cookie: 'a=b',
        'content-type': 'application/json',
        'accept-language': 'ko',
      },
      body: '{"a":1}',
    });
    return seen[1]!;
  };
  const away = await run(307, 'https://b.example/');
  expect([away.method, await away.text(), away.headers.get('accept-language')]).toEqual([
    'POST',
    '{"a":1}',
    'ko',
  ]);
  expect([away.headers.get('authorization'), away.headers.get('cookie')]).toEqual([null, null]);
  const near = await run(308, '/b');
  expect([near.method, near.headers.get('authorization')]).toEqual(['POST', 'Bearer x']);
  for (const status of [301, 302, 303]) {
    const next = await run(status, '/b');
    expect([next.method, next.body, next.headers.get('content-type')]).toEqual(['GET', null, null]);
  }
});

test.each([
  'authorization',
  'Proxy-Authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'apikey',
  'X-Goog-Api-Key',
  'Ocp-Apim-Subscription-Key',
  'x-functions-key',
  'private-token',
  'x-auth-token',
  'X-Vault-Token',
  'x-amz-security-token',
  'x-csrf-token',
  'cf-access-client-secret',
  'cf-access-client-id',
  'mcp-session-id',
  'x-hub-signature-256',
  'x-password',
])('sends the header %s to no other origin, however many hops there are', async (name) => {
  for (const target of ['https://b.example/', 'https://a.example:8443/', 'http://a.example/']) {
    const { seen, fetch } = internet({
      'https://a.example/': to('/near', 307),
      'https://a.example/near': to(target, 308),
      [target]: to('https://a.example/back', 307),
    });
    await publicFetch({ fetch, http: true })('https://a.example/', {
      method: 'POST',
      headers: { [name]: 'k-123456', accept: 'text/plain' },
      body: 'x',
    });
    expect(seen.map(({ headers }) => [headers.get(name), headers.get('accept')])).toEqual([
      ['k-123456', 'text/plain'],
      ['k-123456', 'text/plain'],
      [null, 'text/plain'],
      [null, 'text/plain'],
    ]);
  }
});

test('another origin gets general headers only, because any other may be a credential', async () => {
  const { seen, fetch } = internet({ 'https://a.example/': to('https://b.example/') });
  const kept = {
    accept: 'text/html',
    'accept-language': 'ko',
    'content-type': 'text/plain',
    'if-none-match': '"1"',
    'mcp-protocol-version': '2025-11-25',
    range: 'bytes=0-9',
    'user-agent': 'mine',
  };
  const dropped = {
    'x-one': 'Bearer abc',
    'x-two': 'de',
    'x-figma': 'de',
    sid: 'de',
    dpop: 'de',
    referer: 'https://a.example/?page=1',
    'x-accept': 'de',
    'xuser-agent': 'de',
  };
  await publicFetch({ fetch })('https://a.example/', { headers: { ...kept, ...dropped } });
  expect(Object.fromEntries(seen[1]!.headers)).toEqual(kept);
});

test.each(['https://ann:swordfish@a.example/', 'https://swordfish@a.example/'])(
  'the error for the user name in %s quotes no password, also after a redirect',
  async (url) => {
    const { fetch } = internet({ 'https://b.example/': to(url) });
    for (const from of [url, 'https://b.example/', new URL(url)]) {
      const failure: unknown = await publicFetch({ fetch })(from).catch((error: unknown) => error);
      expect(failure).toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.not.stringContaining('swordfish'),
      });
    }
  },
);

test.each([300, 304, 305, 306])('follows no Location of the status %i', async (status) => {
  const { fetch, seen } = internet({ 'https://a.example/': to('https://b.example/', status) });
  expect((await publicFetch({ fetch })('https://a.example/')).status).toBe(status);
  expect(seen.length).toBe(1);
});

test.each([
  { host: ['a.example'] },
  { hosts: 'a.example' },
  { hosts: ['https://a.example'] },
  { hosts: ['A.example'] },
  { hosts: ['a.example:8443'] },
  { hosts: ['a.example/x'] },
  { hosts: ['*'] },
  { hosts: ['*.'] },
  { hosts: ['*.*.example'] },
  { hosts: [''] },
  { hosts: [1] },
  { http: 'no' },
  { redirects: -1 },
  { redirects: 1.5 },
  { redirects: '5' },
  { redirects: Number.NaN },
  { fetch: 1 },
])('the options %j are a configuration error', (options) => {
  expect(() => publicFetch(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

/** Creates a body that never ends. The promise of its `cancel()` never settles. */
function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: () => new Promise<never>(() => undefined),
    cancel: () => new Promise<never>(() => undefined),
  });
}

test('publicFetch() does not wait for the body of a redirect', async () => {
  for (const redirect of ['follow', 'error'] as const) {
    const hop = new Response(endless(), {
      status: 302,
      headers: { location: 'https://b.example/' },
    });
    const { fetch } = internet({ 'https://a.example/': hop });
    const response = publicFetch({ fetch })('https://a.example/', { redirect });
    if (redirect === 'follow') expect(await (await response).text()).toBe('ok');
    else await expect(response).rejects.toThrow('redirects');
  }
});

test('publicFetch() does not wait for a request body that the server did not read', async () => {
  const { fetch } = internet();
  const init = { method: 'POST', body: endless(), duplex: 'half' } as RequestInit;
  expect(await (await publicFetch({ fetch })('https://a.example/', init)).text()).toBe('ok');
  const down = (() => Promise.reject(new TypeError('down'))) as typeof globalThis.fetch;
  await expect(publicFetch({ fetch: down })('https://a.example/', init)).rejects.toThrow();
});

test('publicFetch() with a list of hosts requests only these hosts', async () => {
  const { seen, fetch } = internet({ 'https://api.example.com/': to('https://evil.example/') });
  const limited = publicFetch({ fetch, hosts: ['*.example.com', 'one.example'] });
  await limited('https://a.example.com/');
  await limited('https://one.example/');
  for (const url of [
    'https://example.com.evil.example/',
    'https://evilexample.com/',
    'https://two.one.example/',
    'https://api.example.com/',
  ]) {
    await expect(limited(url)).rejects.toThrow('not on the list');
  }
  expect(seen.map(({ url }) => url)).toEqual([
    'https://a.example.com/',
    'https://one.example/',
    'https://api.example.com/',
  ]);
});

test('mcpTools() can send its requests through publicFetch()', async () => {
  const { seen, fetch } = internet({
    'https://tools.example/mcp': to('http://169.254.169.254/', 307),
  });
  for (const url of ['https://10.0.0.1/mcp', 'https://tools.example/mcp']) {
    await expect(mcpTools({ url, fetch: publicFetch({ fetch }) })).rejects.toBeInstanceOf(
      AgentError,
    );
  }
  expect(new Set(seen.map(({ url }) => url))).toEqual(new Set(['https://tools.example/mcp']));
});
