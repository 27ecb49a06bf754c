import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { requestId } from 'hono/request-id';
import { expect, test, vi } from 'vitest';
import { bindings, testEndpoint } from '../../test-support/endpoint.ts';
import { boundEndpoint, places } from '../../test-support/both-bindings.ts';

const question = {
  id: 'u1',
  role: 'user',
  parts: [{ type: 'text', text: 'Hello?' }],
};

test.each([
  ['/api/chat', { id: 'one-response', messages: [question] }],
  ['/v1/chat/completions', { model: 'offline', messages: [{ role: 'user', content: 'Hello?' }] }],
])('%s creates one Response per request, which has all headers', async (path, body) => {
  const target = testEndpoint(['Hi.'], {}, { cors: ['https://app.test'] });
  const create = vi.fn();
  const Original = Response;
  vi.stubGlobal(
    'Response',
    class extends Original {
      constructor(...given: ConstructorParameters<typeof Original>) {
        super(...given);
        create();
      }
    },
  );
  const origin = 'https://app.test';
  const response = await target.post(path, { ...body, stream: true }, 'ann', { origin });
  vi.unstubAllGlobals();
  expect(await response.text()).toContain('[DONE]');
  expect(create).toHaveBeenCalledTimes(1);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'access-control-allow-origin': origin,
    'cache-control': 'no-cache',
    'content-type': 'text/event-stream',
    vary: 'origin',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.any(String),
  });
});

test('HEAD is answered like GET, without a body', async () => {
  const response = await testEndpoint([]).fetch('/healthz', { method: 'HEAD' });
  expect([response.status, await response.text()]).toEqual([200, '']);
  expect((await testEndpoint([]).fetch('/api/run', { method: 'HEAD' })).status).toBe(405);
});

test('a page of a listed origin can read that a path does not exist', async () => {
  const target = testEndpoint([], {}, { cors: ['https://app.test'] });
  for (const path of ['/llm/v1/models', '/nothing']) {
    const response = await target.fetch(path, { headers: { origin: 'https://app.test' } });
    expect(response.status).toBe(404);
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.test');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  }
});

test('middleware of another app does not replace the headers of a response', async () => {
  const { handler } = testEndpoint([], {}, { cors: ['https://app.test'] });
  const app = new Hono()
    .use(requestId(), cors(), async (c, next) => {
      c.header('referrer-policy', 'unsafe-url');
      c.header('vary', 'accept-language');
      c.header('x-mine', 'yes');
      await next();
    })
    .route('/agent', handler);
  const init = { headers: { origin: 'https://app.test' } };
  const response = await app.request('/agent/api/chats', init, bindings);
  const { error } = await response.json<{ error: { requestId: string } }>();
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'access-control-allow-origin': 'https://app.test',
    'referrer-policy': 'no-referrer',
    vary: 'accept-language, origin',
    'x-mine': 'yes',
    'x-request-id': error.requestId,
  });
});

test('every response has headers against framing and caching', async () => {
  const target = testEndpoint(['Hi.', 'Hi.'], {}, {});
  const answers = [
    await target.get('/healthz', ''),
    await target.get('/v1/models'),
    await target.get('/v1/models', ''),
    await target.get('/api/chat/a/messages'),
    await target.post('/api/run', { sessionId: crypto.randomUUID(), input: 'Hi' }),
    await target.post('/v1/chat/completions', {
      model: 'offline',
      messages: [{ role: 'user', content: 'Hi' }],
    }),
  ];
  for (const { headers } of answers) {
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toMatch(/^no-(store|cache)$/);
  }
  for (const answer of answers) await answer.text();
});

test.each(places)(
  '%s: streams, errors and unknown paths have the security headers, too',
  async (place) => {
    const bound = boundEndpoint(place, ['Hi.'], {}, { cors: ['https://app.test'] });
    const ui = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
    const answers = [
      await bound.post('/api/chat', { id: bound.id, messages: [ui] }),
      await bound.post('/api/chat', { id: bound.id, messages: [] }),
      await bound.get(`/api/chat/${bound.id}/stream`),
      await bound.get('/api/chats'),
      await bound.post(`/api/chat/${bound.id}/interrupt`, {}),
      await bound.fetch('/api/chat', {
        method: 'OPTIONS',
        headers: { origin: 'https://app.test', 'access-control-request-method': 'POST' },
      }),
      await bound.fetch('/api/chat', { method: 'PUT' }),
      await bound.get('/nowhere'),
      await bound.get('/v1/nowhere'),
      await bound.post('/llm/v1/chat/completions', {}),
      await bound.post('/api/chat', {}, ''),
      await bound.post('/api/chat', {}, 'ann', { origin: 'https://evil.test' }),
      await bound.fetch(`/api/chat/${bound.id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${bound.user}` },
      }),
    ];
    for (const answer of answers) {
      const { headers } = answer;
      expect(headers.get('x-content-type-options'), answer.url).toBe('nosniff');
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toMatch(/^no-(store|cache)$/);
      expect([...headers.keys()]).not.toContain('x-powered-by');
      await answer.text();
    }
  },
);
