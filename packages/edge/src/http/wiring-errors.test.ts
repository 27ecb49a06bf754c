import { InMemoryMemory, MemoryStore } from '@isoloop/core';
import { expect, onTestFinished, test, vi, type Mock } from 'vitest';
import { testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';
import { bearerToken } from './bearer-token.ts';
import { llmProxy } from '../llm/llm-proxy.ts';
import { storeSessions } from '../store/index.ts';

function spyOn(method: 'error' | 'warn'): Mock {
  const spy = vi.spyOn(console, method).mockImplementation(() => {});
  onTestFinished(() => spy.mockRestore());
  return spy;
}

interface Refusal {
  readonly error: { readonly code: string; readonly message: string; readonly param?: string };
}

async function refusalOf(answer: Promise<Response>): Promise<readonly [number, Refusal['error']]> {
  const response = await answer;
  return [response.status, ((await response.json()) as Refusal).error];
}

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

test.each(['https://app.test/', 'https://APP.test', 'app.test', '*', 'https://*.app.test', 7])(
  'cors with %j says what to write instead',
  (origin) => {
    const advice = `${JSON.stringify(origin)}; list each origin without a path, such as "https://`;
    expect(() => testEndpoint([], {}, { cors: [origin as string] })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(advice) }),
    );
  },
);

const storeAdvice =
  "Conversations in a store need `store: storeSessions(store)` in createAgentHandler(). Import it: import { storeSessions } from '@isoloop/edge/store';";

test.each<[what: string, store: unknown, advice: string]>([
  ['a bare store', new MemoryStore(), storeAdvice],
  ['another object', { getItem: () => null }, storeAdvice],
  ['a path', './chats', storeAdvice],
  ['null', null, 'store must be an object with open()'],
])('with %s as `store`, the error says what to pass', (_what, store, advice) => {
  expect(() => testEndpoint([], {}, { store } as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(advice) }),
  );
});

test('a store and a memory at once are refused', () => {
  const options = { store: storeSessions(new MemoryStore()), memory: () => new InMemoryMemory() };
  expect(() => testEndpoint([], {}, options)).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: 'createAgentHandler(): give either store or memory.',
    }),
  );
});

test.each([{ getItem: () => null }, null, './chats'])('storeSessions(%j) is refused', (store) => {
  expect(() => storeSessions(store as never)).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining('storeSessions(): the store'),
    }),
  );
});

test('without a place for conversations, the log says what to bind or pass', async () => {
  const log = spyOn('error');
  const target = testEndpoint([], {}, { kv: undefined as never });
  for (const answer of [target.get('/api/chats'), target.get('/api/chat/c1/messages')]) {
    const [status, error] = await refusalOf(answer);
    expect([status, error.code]).toEqual([500, 'CONFIGURATION']);
    expect(error.message).not.toContain('CHAT_KV');
  }
  expect(log.mock.calls.map(([line]) => line)).toEqual(
    Array.from({ length: 2 }, () =>
      expect.stringContaining("import { kvSessions } from '@isoloop/edge/kv';"),
    ),
  );
});

test('a text as cors is refused, and the error asks for an array', () => {
  expect(() => testEndpoint([], {}, { cors: 'https://app.test' as never })).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining('cors must be an array'),
    }),
  );
});

const question = { messages: [{ role: 'user', content: 'Hi' }], input: 'Hi', id: 'chat-1' };

test.each([
  ['/api/chat', 'createAgentHandler'],
  ['/api/run', 'createAgentHandler'],
  ['/v1/chat/completions', 'createAgentHandler'],
  ['/v1/responses', 'createAgentHandler'],
  ['/llm/v1/chat/completions', 'llmProxy'],
  ['/llm/v1/responses', 'llmProxy'],
])(
  '%s: a model that is not listed gets the listed names and the place of the option: %s',
  async (path, owner) => {
    const target = testEndpoint(
      [],
      {},
      {
        models: ['small', 'large'],
        llm: llmProxy({ models: ['small', 'large'], upstream: () => ({}) }),
      },
    );
    const asked = path === '/api/run' ? { input: 'Hi', sessionId: 'chat-1' } : question;
    const [status, error] = await refusalOf(target.post(path, { ...asked, model: 'gpt-5-mini' }));
    expect([status, error.code]).toEqual([404, 'NOT_FOUND']);
    expect(error.message).toContain('does not list the model "gpt-5-mini"');
    expect(error.message).toContain('"small", "large"');
    expect(error.message).toContain(`the option models of ${owner}.`);
  },
);

test('a request to /v1 without a model gets the listed names', async () => {
  const target = testEndpoint([], {}, { models: ['small'] });
  const [status, error] = await refusalOf(target.post('/v1/chat/completions', question));
  expect([status, error.param, error.message]).toEqual([
    400,
    'model',
    expect.stringContaining('"small"'),
  ]);
});
