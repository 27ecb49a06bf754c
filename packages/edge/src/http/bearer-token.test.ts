import { expect, test, vi } from 'vitest';
import { bearerToken } from './bearer-token.ts';
import { asks, testEndpoint } from '../../test-support/endpoint.ts';
import { refusalOf, spyOn } from '../../test-support/refusals.ts';

const ann = 'ann-0123456789abcdef';

const ci = 'ci-0123456789abcdef0';

const old = 'old-0123456789abcdef';

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

test.each([
  ['a short token', 'fifteen-letters', 'too short'],
  ['no token', undefined, 'not set'],
  ['an empty token', '', 'not set'],
  ['a token that is no text', 1234567890123456, 'too short'],
])(
  'with %s, the log says which token to write, and the answer only says to read the log',
  async (_what, token, problem) => {
    const log = spyOn('error');
    const target = testEndpoint(
      [],
      {},
      { authorize: bearerToken(() => ({ ann: token }) as never) },
    );
    const [status, error] = await refusalOf(target.get('/api/chats', 'x'.repeat(20)));
    expect([status, error.code]).toEqual([401, 'UNAUTHORIZED']);
    expect(error.message).toMatch(/its log says what to write/);
    expect(error.message).not.toMatch(/ann|16/);
    expect(log.mock.calls).toHaveLength(1);
    const said = String(log.mock.calls[0]![0]);
    expect(said).toContain(`the token of "ann" is ${problem}`);
    expect(said).toContain('16 characters or more');
    expect(said).toContain('openssl rand -hex 16');
    if (token) expect(said).not.toContain(String(token));
  },
);

test('a wrong token is refused without a hint, and nothing is logged', async () => {
  const log = spyOn('error');
  const target = testEndpoint(
    [],
    {},
    { authorize: bearerToken(() => 'a-token-of-ann-long-enough') },
  );
  const [status, error] = await refusalOf(target.get('/api/chats', 'x'.repeat(20)));
  expect([status, error.message]).toEqual([401, 'This request is not authorized.']);
  expect(log).not.toHaveBeenCalled();
});
