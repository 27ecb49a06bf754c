import { expect, test } from 'vitest';
import { readJson } from './request-body.ts';
import { postRoutes } from '../../test-support/post-routes.ts';
import { testEndpoint } from '../../test-support/endpoint.ts';
import { llmProxy } from '../llm/llm-proxy.ts';
import { refusalOf } from '../../test-support/refusals.ts';

const maxBytes = 1_048_576;

const read = (body: BodyInit, headers: Record<string, string> = {}): Promise<object> =>
  readJson(
    new Request('https://edge.test', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    }),
    maxBytes,
  );

test.each([
  ['brackets', '[{'.repeat(100)],
  ['quotes before brackets', '"[{'.repeat(100)],
  ['a backslash at its end', '\\'],
  ['backslashes and quotes', '\\"\\\\"['.repeat(100)],
])('the nesting limit of a body ignores a string with %s', async (_name, text) => {
  const body = { a: [text, { [text]: text }], b: text };
  expect(await read(JSON.stringify(body))).toEqual(body);
});

test.each([
  [64, true],
  [65, false],
])('a body with %d levels of nesting is accepted: %s', async (levels, isRead) => {
  const body = `{"a\\"":"]}\\\\","b":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  if (isRead) expect(await read(body)).toHaveProperty('b');
  else await expect(read(body)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test.each([
  ['lists', '['.repeat(500_000) + ']'.repeat(500_000)],
  ['lists without an end', '['.repeat(1_000_000)],
  ['objects', `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`],
])('a megabyte of nested %s is refused', async (_name, body) => {
  await expect(read(body)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test.each([
  ['as long as it says', { 'content-length': '7' }],
  ['longer than it says', { 'content-length': '1' }],
  ['of unknown length', {}],
  ['whose length is no number', { 'content-length': 'seven' }],
])('a body %s is read', async (_name, headers) => {
  expect(await read('{"a":1}', headers)).toEqual({ a: 1 });
});

test.each([
  ['of its length', { 'content-length': String(maxBytes + 2) }],
  ['despite its length', { 'content-length': '10' }],
  ['of unknown length', {}],
  ['whose length is no number', { 'content-length': 'many' }],
])('a body that is too large %s is refused', async (_name, headers) => {
  const body = JSON.stringify('a'.repeat(maxBytes));
  await expect(read(body, headers)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
});

test.each([
  ['chunked', { 'transfer-encoding': 'chunked' }],
  ['compressed on its way', { 'content-encoding': 'gzip' }],
])(
  'a body that was %s is read only up to the limit, whatever its length says',
  async (_name, headers) => {
    let chunks = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(maxBytes / 4).fill(0x20));
        chunks += 1;
        if (chunks === 100) controller.close();
      },
    });
    await expect(read(body, { 'content-length': '10', ...headers })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
    expect(chunks).toBeLessThan(10);
  },
);

test.each([
  ['length', { 'content-length': '9' }],
  ['unknown length', {}],
])('a body of %s that is not UTF-8 is refused', async (_name, headers) => {
  const body = new TextEncoder().encode('{"a":"x"}');
  body[6] = 0xff;
  await expect(read(body, headers)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('a body that other code has read is refused with what to do', async () => {
  const headers = { 'content-type': 'application/json' };
  const request = new Request('https://edge.test', { method: 'POST', headers, body: '{}' });
  await request.text();
  await expect(readJson(request, maxBytes)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('mount the endpoint before') as string,
  });
});

test.each([
  ['a length', { 'content-length': '2' }],
  ['no length', {}],
])(
  'an empty body with %s may have been read by other code, and the error says so',
  async (_name, headers) => {
    await expect(read('', headers)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('express.json()') as string,
    });
  },
);

test.each([...postRoutes, '/api/chat/a/interrupt'])(
  '%s: the endpoint stops reading a body without a length at the limit',
  async (path) => {
    const llm = llmProxy({
      models: ['small'],
      upstream: () => ({ fetch: () => Promise.reject(new Error('asked')) }),
    });
    const target = testEndpoint([], {}, { limits: { bodyBytes: 1000 }, llm });
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => (pulls++, controller.enqueue(new Uint8Array(300).fill(32))),
    });
    const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' };
    const response = await target.fetch(path, { method: 'POST', headers, body });
    expect([response.status, await response.json()]).toMatchObject([
      413,
      { error: { code: 'PAYLOAD_TOO_LARGE' } },
    ]);
    expect(pulls).toBeLessThan(12);
  },
);

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
