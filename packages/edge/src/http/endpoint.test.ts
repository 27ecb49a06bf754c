import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { requestId } from 'hono/request-id';
import { expect, test, vi } from 'vitest';
import { bindings, testEndpoint } from '../../test-support/endpoint.ts';

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
