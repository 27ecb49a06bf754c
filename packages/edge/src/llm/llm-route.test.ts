/// <reference path="../../../../test/provider-server/provided-context.d.ts" />
import { ReActAgent, tool } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import OpenAI from 'openai';
import { expect, inject, test, vi } from 'vitest';
import { testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';
import type { LlmOptions, LlmUpstream } from './llm-options.ts';
import { llmProxy } from './llm-proxy.ts';

const key = 'sk-very-secret-key-0123456789';
const path = '/llm/v1/chat/completions';
const body = { model: 'small', messages: [{ role: 'user', content: 'Hi' }] };

function proxy(upstream: LlmUpstream, options: Partial<LlmOptions> = {}): TestEndpoint {
  return testEndpoint(
    [],
    {},
    {
      llm: llmProxy({
        models: ['small', 'large'],
        upstream: () => ({ apiKey: key, ...upstream }),
        ...options,
      }),
    },
  );
}

/** Fakes a model server that records its requests. */
function server(answer: (init: RequestInit) => Response | Promise<Response>) {
  const seen: { url: string; init: RequestInit }[] = [];
  const send = async (url: string, init: RequestInit): Promise<Response> => {
    seen.push({ url, init });
    return answer(init);
  };
  return {
    seen,
    fetch: send,
    sent: () => JSON.parse(String(seen[0]!.init.body)) as Record<string, unknown>,
  };
}

const ok = (): Response =>
  Response.json({
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  });
const events = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'text/event-stream' } });

test('the model proxy sends the model server’s key and the server’s name of the model', async () => {
  const upstream = server(ok);
  const target = proxy({
    fetch: upstream.fetch,
    baseURL: 'https://models.test/v1/',
    model: 'vendor/small-1',
    headers: { 'x-org': 'mine' },
  });
  const response = await target.post(path, { ...body, temperature: 1 }, 'ann', {
    'x-org': 'theirs',
    cookie: 'a=b',
  });
  expect(response.status).toBe(200);
  const [{ url, init }] = upstream.seen as [(typeof upstream.seen)[0]];
  expect(url).toBe('https://models.test/v1/chat/completions');
  expect(init.headers).toEqual({
    'content-type': 'application/json',
    authorization: `Bearer ${key}`,
    'x-org': 'mine',
  });
  expect(upstream.sent()).toEqual({
    ...body,
    model: 'vendor/small-1',
    temperature: 1,
    max_tokens: 4096,
  });
  expect(JSON.stringify([...response.headers]) + (await response.text())).not.toContain(key);
});

test('the model proxy removes secret header values from an answer, and keeps other header values', async () => {
  const said =
    'See https://my-app.example, My weather app, since 2023-06-01, by 0123456789abcdef and fedcba9876543210.';
  const upstream = server(() => events(`data: ${JSON.stringify(said)}\n\n`));
  const headers = {
    'HTTP-Referer': 'https://my-app.example',
    'X-Title': 'My weather app',
    'api-version': '2023-06-01',
    'x-api-key': '0123456789abcdef',
    'X-Org': 'Bearer fedcba9876543210',
  };
  const response = await proxy({ fetch: upstream.fetch, headers }).post(path, body);
  expect(await response.text()).toContain(
    'See https://my-app.example, My weather app, since 2023-06-01, by *** and ***.',
  );
});

test.each([
  [{}, {}, { max_tokens: 4096 }],
  [{ max_tokens: 10 }, {}, { max_tokens: 10 }],
  [{ max_tokens: 1e9 }, { maxTokens: 100 }, { max_tokens: 100 }],
  [{ max_tokens: 50, max_completion_tokens: 20 }, {}, { max_tokens: 20 }],
  [{ max_completion_tokens: 1e9 }, {}, { max_tokens: 4096 }],
  [{ max_tokens: null }, {}, { max_tokens: 4096 }],
])('the model proxy limits the output tokens: %j', async (asked, options, expected) => {
  const upstream = server(ok);
  await proxy({ fetch: upstream.fetch, baseURL: 'https://models.test/v1' }, options).post(path, {
    ...body,
    ...asked,
  });
  expect(upstream.sent()).toEqual({ ...body, ...expected });
});

test('the model proxy sends the token limit to OpenAI’s own servers as max_completion_tokens', async () => {
  const upstream = server(ok);
  await proxy({ fetch: upstream.fetch }).post(path, { ...body, max_tokens: 5 });
  expect(upstream.seen[0]!.url).toBe('https://api.openai.com/v1/chat/completions');
  expect(upstream.sent()).toEqual({ ...body, max_completion_tokens: 5 });
});

test.for<readonly [param: string, message: object]>([
  ['content[0].file.file_id', { content: [{ type: 'file', file: { file_id: 'file_1' } }] }],
  ['content[0].file_id', { content: [{ type: 'file', file_id: 'file_1' }] }],
  ['audio', { role: 'assistant', audio: { id: 'audio_1' } }],
  ['content[0].image_url.url', { content: [{ image_url: { url: ' file:///etc/passwd' } }] }],
  ['content[0].image_url.url', { content: [{ image_url: { url: 'https://a:b@c.test' } }] }],
  ['content[0].video_url.url', { content: [{ video_url: { url: 'javascript:alert(1)' } }] }],
  ['content[0].file.file_uri', { content: [{ file: { file_uri: 'gs://bucket/a' } }] }],
  ['content[0].content[0].file_id', { content: [{ content: [{ file_id: 'f' }] }] }],
  ['content[0].file.fileId', { content: [{ file: { fileId: 'file_1' } }] }],
  ['content[0].containerId', { content: [{ containerId: 'c1' }] }],
  ['content[0].vectorStoreIds', { content: [{ vectorStoreIds: ['v1'] }] }],
  ['content[0].fileData.fileUri', { content: [{ fileData: { fileUri: 'gs://bucket/a' } }] }],
  ['content[0].input_audio', { content: [{ input_audio: { id: 'audio_1' } }] }],
  ['content[0].output_audio', { content: [{ output_audio: { id: 'audio_1' } }] }],
])('the model proxy refuses stored data and addresses in `%s`', async ([field, message]) => {
  const upstream = server(ok);
  const messages = [body.messages[0], { role: 'user', ...message }];
  const response = await proxy({ fetch: upstream.fetch }).post(path, { ...body, messages });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { code: 'INVALID_INPUT', param: `messages[1].${field}` },
  });
  expect(upstream.seen).toEqual([]);
});

test('the model proxy forwards media, arguments and schemas as they are', async () => {
  const upstream = server(ok);
  const text = '{"file_id":"a","url":"file:///a"}';
  const forwarded = {
    ...body,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'AAAA' } },
        ],
      },
      {
        role: 'assistant',
        audio: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }],
      },
      { role: 'tool', tool_call_id: 'c', content: text },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'f', parameters: { type: 'object', properties: { file_id: {} } } },
      },
    ],
  };
  expect((await proxy({ fetch: upstream.fetch }).post(path, forwarded)).status).toBe(200);
  expect(upstream.sent()).toMatchObject(forwarded);
});

test('the model proxy rejects unknown fields, unless an option allows them', async () => {
  const upstream = server(ok);
  for (const more of [
    { store: true },
    { service_tier: 'priority' },
    { user: 'bob' },
    { enable_thinking: true },
  ]) {
    expect((await proxy({ fetch: upstream.fetch }).post(path, { ...body, ...more })).status).toBe(
      400,
    );
  }
  expect(upstream.seen).toEqual([]);
  await proxy({ fetch: upstream.fetch }, { fields: ['enable_thinking'] }).post(path, {
    ...body,
    enable_thinking: true,
  });
  expect(upstream.sent()['enable_thinking']).toBe(true);
});

test('the model proxy forwards each part of the server’s answer to the client at once', async () => {
  let pulls = 0;
  let writer!: ReadableStreamDefaultController<Uint8Array>;
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => void (writer = controller),
    pull: () => void (pulls += 1),
  });
  const upstream = server(
    () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
  );
  const response = await proxy({ fetch: upstream.fetch }).post(path, { ...body, stream: true });
  const reader = response
    .body!.pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>;
  for (const text of ['data: {"a":1}\n\n', 'data: {"b":', '2}\n\n']) {
    writer.enqueue(new TextEncoder().encode(text));
    expect((await reader.read()).value).toBe(text);
  }
  expect(pulls).toBeGreaterThan(0);
  writer.close();
  expect((await reader.read()).done).toBe(true);
});

test('the model proxy cancels the server’s stream when the client disconnects during the answer', async () => {
  let cancelled!: () => void;
  const gone = new Promise<void>((resolve) => (cancelled = resolve));
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('data: {}\n\n')),
    cancel: () => cancelled(),
  });
  const upstream = server(
    () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
  );
  const response = await proxy({ fetch: upstream.fetch }).post(path, { ...body, stream: true });
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  expect(await gone).toBeUndefined();
});

test.each([
  [401, {}, 502, 'MODEL_AUTH'],
  [403, {}, 502, 'MODEL_AUTH'],
  [402, {}, 502, 'MODEL_AUTH'],
  [429, { 'retry-after': '7' }, 429, 'MODEL_RATE_LIMITED'],
  [400, {}, 400, 'MODEL_REQUEST'],
  [404, {}, 400, 'MODEL_REQUEST'],
  [408, {}, 504, 'MODEL_TIMEOUT'],
  [500, {}, 502, 'MODEL_SERVER'],
  [503, {}, 502, 'MODEL_SERVER'],
  [302, { location: 'https://evil.test' }, 502, 'MODEL_BAD_RESPONSE'],
])(
  'the model proxy turns the server’s status %i into an error without the server’s text',
  async (status, headers, expected, code) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const words = JSON.stringify({
      error: { message: `Incorrect API key provided: ${key}. Account acme-inc.` },
    });
    const upstream = server(
      () => new Response(words, { status, headers: { 'set-cookie': 'a=b', ...headers } }),
    );
    const target = proxy({ fetch: upstream.fetch });
    const response = await target.post(path, body);
    const text = await response.text();
    expect([response.status, JSON.parse(text)]).toMatchObject([
      expected,
      { error: { code, param: null } },
    ]);
    expect(text + JSON.stringify([...response.headers])).not.toMatch(/sk-very|acme|a=b|evil/);
    expect(JSON.stringify(log.mock.calls)).not.toContain(key);
    if (expected >= 500) expect(String(log.mock.calls[0]?.[0])).toContain('acme-inc');
    if (status === 429) expect(response.headers.get('retry-after')).toBe('7');
    expect(upstream.seen[0]!.init.redirect).toBe('manual');
    log.mockRestore();
  },
);

test('the model proxy reports a context that is too long with the code MODEL_CONTEXT_LENGTH', async () => {
  const message = "This model's maximum context length is 8192 tokens.";
  const upstream = server(() => Response.json({ error: { message } }, { status: 400 }));
  const response = await proxy({ fetch: upstream.fetch }).post(path, body);
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: { code: 'MODEL_CONTEXT_LENGTH' } },
  ]);
});

test.each<[string, () => Response | Promise<Response>, number, string]>([
  [
    'is down',
    () => Promise.reject(new TypeError(`connect refused, sent Bearer ${key}`)),
    502,
    'MODEL_UNREACHABLE',
  ],
  [
    'answers with an HTML page',
    () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    502,
    'MODEL_BAD_RESPONSE',
  ],
])(
  'the model proxy reports a server that %s, without the server’s key',
  async (_what, answer, status, code) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const response = await proxy({ fetch: server(answer).fetch }).post(path, body);
    const text = await response.text();
    expect([response.status, JSON.parse(text)]).toMatchObject([status, { error: { code } }]);
    const logged = log.mock.calls
      .flat()
      .map((each) =>
        each instanceof Error ? `${each.stack} ${String(each.cause)}` : String(each),
      );
    expect(text + logged.join()).not.toContain(key);
    log.mockRestore();
  },
);

test('the model proxy has no time limit with `timeoutMs: Infinity`', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const upstream = server(async () => {
    // Ends after any timer without a delay.
    await new Promise((resolve) => setTimeout(resolve, 5));
    return ok();
  });
  const target = proxy({ fetch: upstream.fetch }, { timeoutMs: Infinity });
  expect((await target.post(path, body)).status).toBe(200);
  expect(timers.mock.calls.map(([, ms]) => ms)).toContain(2 ** 31 - 1);
  timers.mockRestore();
});

test('the model proxy gives up on a server that does not answer before the timeout', async () => {
  const hangs = server(
    (init) =>
      new Promise((_resolve, reject) =>
        init.signal!.addEventListener('abort', () => reject(init.signal!.reason)),
      ),
  );
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const response = await proxy({ fetch: hangs.fetch }, { timeoutMs: 1 }).post(path, body);
  expect([response.status, await response.json()]).toMatchObject([
    504,
    { error: { code: 'MODEL_TIMEOUT' } },
  ]);
  log.mockRestore();
});

test.each<[what: string, status: number, type: string, sent: string, code: string]>([
  ['an error', 401, 'application/json', '', 'MODEL_AUTH'],
  ['an error that has begun', 503, 'application/json', '{"error": {', 'MODEL_SERVER'],
  ['a long error', 400, 'text/plain', 'y'.repeat(9000), 'MODEL_REQUEST'],
  ['a redirect', 302, 'text/html', '<html>', 'MODEL_BAD_RESPONSE'],
  ['a page', 200, 'text/html', '<html>', 'MODEL_BAD_RESPONSE'],
])('does not wait for the end of %s', async (_what, status, type, sent, code) => {
  // As with `fetch`, the signal of the request also ends the reading of the answer.
  const upstream = server(({ signal }) => {
    const stuck = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode(sent || ' '));
        signal!.addEventListener('abort', () => controller.error(signal!.reason));
      },
      cancel: () => (status === 200 ? new Promise<never>(() => undefined) : undefined),
    });
    return new Response(stuck, { status, headers: { 'content-type': type } });
  });
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const target = proxy({ fetch: upstream.fetch }, { timeoutMs: 1 });
  const answer = await (await target.post(path, body)).json();
  expect(answer).toMatchObject({ error: { code } });
  if (sent && status !== 200) expect(log.mock.calls.join()).toContain(sent.slice(0, 8000));
  log.mockRestore();
});

test.each([1, 2, 3, 7, 64])(
  'the model proxy removes a quoted key from the answer with %i bytes per read',
  async (size) => {
    const text = `data: {"text":"${key} sk-very ${key.slice(0, -1)}! sk-${key}${key}"}\n\ndata: sk-very-sec`;
    const bytes = new TextEncoder().encode(text);
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size)
          controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const upstream = server(
      () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
    );
    const response = await proxy({ fetch: upstream.fetch }).post(path, body);
    expect(await response.text()).toBe(text.replaceAll(key, '***'));
  },
);

test('the model proxy rejects unknown callers, and an endpoint without the option `llm` gives 404', async () => {
  const upstream = server(() => events('data: [DONE]\n\n'));
  expect((await proxy({ fetch: upstream.fetch }).post(path, body, '')).status).toBe(401);
  expect((await testEndpoint([]).post(path, body)).status).toBe(404);
  expect(upstream.seen).toEqual([]);
  const listed = (await (await proxy({}).get('/llm/v1/models')).json()) as {
    data: { id: string }[];
  };
  expect(listed.data.map(({ id }) => id)).toEqual(['small', 'large']);
});

test('an agent of a page and OpenAI’s client work through the model proxy, over HTTP', async () => {
  const target = proxy(
    { baseURL: `${inject('providerUrl')}/scripted/v1` },
    { models: ['scripted'] },
  );
  const clock = tool({
    name: 'clock',
    description: 'The time',
    input: { type: 'object' },
    execute: () => 'noon',
  });
  const model = openai({
    model: 'scripted',
    apiKey: 'ann',
    baseURL: 'https://edge.test/llm/v1',
    fetch: (url, init) => target.fetch(url, init),
  });
  const { text } = await new ReActAgent({ name: 'page', model, tools: [clock] }).call(
    'What time is it?',
  );
  expect(text).toContain('The tools say: noon');

  const client = new OpenAI({
    baseURL: 'https://edge.test/llm/v1',
    apiKey: 'ann',
    fetch: target.fetch as typeof fetch,
    maxRetries: 0,
  });
  await expect(
    client.chat.completions.create({ model: 'gpt-9', messages: [{ role: 'user', content: 'Hi' }] }),
  ).rejects.toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
  });
  const echo = proxy({ baseURL: `${inject('providerUrl')}/echo/v1` });
  const echoed = await (await echo.post(path, body)).text();
  expect(echoed).toContain('***');
  expect(echoed).not.toContain(key);
});

test('the model proxy forwards no header of the client, and only the content type of the server', async () => {
  const hidden = {
    'set-cookie': 'session=1',
    'transfer-encoding': 'chunked',
    'keep-alive': 'timeout=5',
    'proxy-authenticate': 'Basic',
    server: 'models/1',
    'openai-organization': 'acme-inc',
    'access-control-allow-origin': '*',
    'x-request-id': 'theirs',
    'x-key': key,
  };
  const upstream = server(
    () =>
      new Response('data: [DONE]\n\n', {
        headers: { 'content-type': 'text/event-stream', ...hidden },
      }),
  );
  const response = await proxy({ fetch: upstream.fetch, baseURL: 'https://models.test/v1' }).post(
    path,
    { ...body, stream: true },
    'ann',
    {
      cookie: 'theirs=1',
      'x-forwarded-for': '203.0.113.7',
      'proxy-authorization': 'Basic x',
      'openai-organization': 'another',
      te: 'trailers',
    },
  );
  const passed = Object.fromEntries(response.headers);
  for (const [name, value] of Object.entries(hidden)) expect(passed[name], name).not.toBe(value);
  await response.text();
  expect(passed['content-type']).toBe('text/event-stream');
  expect(JSON.stringify(passed)).not.toMatch(/acme|session=1|sk-very/);
  expect(upstream.seen[0]!.init.headers).toEqual({
    'content-type': 'application/json',
    authorization: `Bearer ${key}`,
  });
});

test('the model proxy cancels the request to the server when the client disconnects before the answer', async () => {
  let asked!: (signal: AbortSignal) => void;
  const begun = new Promise<AbortSignal>((resolve) => (asked = resolve));
  const hangs = server(
    ({ signal }) =>
      new Promise((_resolve, reject) => {
        asked(signal!);
        signal!.addEventListener('abort', () => reject(signal!.reason));
      }),
  );
  const controller = new AbortController();
  const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' };
  const request = new Request(`https://edge.test${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal: controller.signal,
  });
  const answer = proxy({ fetch: hangs.fetch }).fetch(request);
  const signal = await begun;
  controller.abort();
  expect((await answer).status).toBe(499);
  expect(signal.aborted).toBe(true);
});

test('the model proxy forwards the client’s functions, and rejects tools that the server would run', async () => {
  const upstream = server(ok);
  const tools = [{ type: 'function', function: { name: 'f' } }];
  await proxy({ fetch: upstream.fetch, baseURL: 'https://models.test/v1' }).post(path, {
    ...body,
    tools,
  });
  expect(upstream.sent()['tools']).toEqual(tools);
  for (const type of ['web_search', 'code_interpreter', 'mcp', undefined]) {
    expect(
      (await proxy({ fetch: upstream.fetch }).post(path, { ...body, tools: [...tools, { type }] }))
        .status,
    ).toBe(400);
    if (type === undefined) continue;
    const response = await proxy({ fetch: upstream.fetch }).post(path, {
      ...body,
      tool_choice: { type },
    });
    expect(await response.json()).toMatchObject({ error: { param: 'tool_choice' } });
  }
  expect(upstream.seen.length).toBe(1);
});
