import { AgentError } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { jsonMode, objectMediaType } from '@isoloop/core/output';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';
import { testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';
import { llmProxy } from '../llm/llm-proxy.ts';
import { endpoint, newChat } from '../../test-support/tool-endpoint.ts';
import { ask } from '../../test-support/session-client.ts';

// Proxies and servers end connections that are silent: Bun after 10 seconds, nginx after 60.

const comment = ': keep-alive\n\n';
const chat = { messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hello?' }] }] };
const messages = [{ role: 'user', content: 'Hello?' }];

interface Streamed {
  readonly path: string;
  readonly body: object;
  /** What the client gets as a comment. */
  readonly filler?: string;
  readonly headers?: Record<string, string>;
  /** Text of a failure that comes after the head. */
  readonly failure: RegExp;
}

/** The character that begins why an object is missing. */
const cancel = '\u0018';

const streams: Readonly<Record<string, Streamed>> = {
  'a chat': {
    path: '/api/chat',
    body: { id: crypto.randomUUID(), ...chat },
    failure: /"type":"error","errorText":.*\n\ndata: \[DONE\]\n\n$/,
  },
  'an object': {
    path: '/api/chat',
    body: { id: crypto.randomUUID(), ...chat },
    headers: { accept: objectMediaType },
    filler: '\n',
    failure: new RegExp(`${cancel}\\{"code":"MODEL_SERVER","message":"[^"]*"\\}$`),
  },
  events: {
    path: '/api/run',
    body: { sessionId: crypto.randomUUID(), input: 'Hello?' },
    failure: /"type":"error".*"code":"MODEL_SERVER".*\n\ndata: \[DONE\]\n\n$/,
  },
  'a chat completion': {
    path: '/v1/chat/completions',
    body: { model: 'offline', stream: true, messages },
    failure:
      /\{"error":\{"message":"[^"]*","type":"api_error","code":"MODEL_SERVER".*\n\ndata: \[DONE\]\n\n$/,
  },
  'a response': {
    path: '/v1/responses',
    body: { model: 'offline', stream: true, input: 'Hello?' },
    failure: /event: error\ndata: .*"code":"MODEL_SERVER".*\n\nevent: response.failed\n/,
  },
};

interface Opened {
  readonly response: Response;
  readonly openedMs: number;
  /** Returns what has come since the last call. */
  readonly read: () => string;
}

/** Posts a request, and moves the clock until its response begins. */
async function open(
  clock: FakeClock,
  target: TestEndpoint,
  { path, body, headers }: Pick<Streamed, 'path' | 'body' | 'headers'>,
): Promise<Opened> {
  const begin = clock.now();
  const response = await clock.advanceUntil(target.post(path, body, 'ann', headers), 50);
  const openedMs = clock.now() - begin;
  let text = '';
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  onTestFinished(() => reader.cancel().catch(() => {}));
  const readAll = async (): Promise<void> => {
    for (let each = await reader.read(); !each.done; each = await reader.read()) text += each.value;
  };
  void readAll().catch(() => {});
  const read = (): string => {
    const news = text;
    text = '';
    return news;
  };
  return { response, openedMs, read };
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Creates a reply that comes when the test calls `release`. */
function lateReply(reply: object): {
  readonly reply: ScriptedReply;
  readonly release: () => void;
} {
  const { promise, resolve } = deferred<void>();
  return { reply: { ...reply, wait: promise }, release: resolve };
}

describe.each(Object.entries(streams))('%s', (_name, stream) => {
  const { filler = comment, failure } = stream;
  const isObject = filler !== comment;
  const options = isObject ? { use: [jsonMode()] } : {};

  test('opens within a second while the model is silent, and comments within each five seconds', async () => {
    const clock = fakeClock();
    const { reply, release } = lateReply({ text: '{"a":1}' });
    const target = testEndpoint([reply], options);
    const { response, openedMs, read } = await open(clock, target, stream);
    expect(response.status).toBe(200);
    expect(openedMs).toBeLessThan(1100);
    expect(response.headers.get('x-isoloop-keep-alive')).toBe('5000');
    await clock.advance(1100);
    expect(read()).not.toBe('');
    for (let second = 0; second < 30; second += 5) {
      await clock.advance(5000);
      const news = read();
      expect(news.replaceAll(filler, '')).toBe('');
      expect(news).not.toBe('');
    }
    release();
    await clock.waitFor(() => expect(read()).toMatch(isObject ? /\}$/ : /1\}|"a/));
    await target.settled();
  });

  test('a failure within a second has its status, and a later one is in the stream', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const clock = fakeClock();
    let agentMs = 0;
    const fails = new AgentError('MODEL_SERVER', 'It is down.');
    const agent = async () => {
      if (agentMs) await new Promise((resolve) => setTimeout(resolve, agentMs));
      throw fails;
    };
    const target = testEndpoint([], {}, { agent });
    const early = await clock.advanceUntil(
      target.post(stream.path, stream.body, 'ann', stream.headers),
      50,
    );
    expect(early.status).toBe(502);
    await early.text();
    agentMs = 3000;
    const { response, openedMs, read } = await open(clock, target, stream);
    expect([response.status, openedMs < 1100]).toEqual([200, true]);
    await clock.advance(5000);
    // Without an agent, nothing is known about the object.
    await clock.waitFor(() => expect(read()).toMatch(failure));
  });

  test('a client that leaves before the answer begins ends it', async () => {
    const clock = fakeClock();
    const { promise, resolve } = deferred<void>();
    let signal: AbortSignal | undefined;
    const model = new ScriptedModel([{ text: '{}', wait: (given) => ((signal = given), promise) }]);
    const target = testEndpoint(model, options, { limits: { afterDisconnectMs: 0 } });
    const response = await clock.advanceUntil(
      target.post(stream.path, stream.body, 'ann', stream.headers),
      50,
    );
    await response.body!.cancel();
    await clock.waitFor(() => expect(signal?.aborted).toBe(true));
    resolve();
    await clock.advance(60_000);
    expect(clock.pendingTimers()).toBe(0);
    await target.settled();
  });
});

const llmPath = '/llm/v1/chat/completions';
const llmBody = { model: 'small', stream: true, messages };

/** Opens a model proxy. Its model server sends what the test writes. */
function proxied(answer: () => Promise<Response>): TestEndpoint {
  const llm = llmProxy({
    models: ['small'],
    upstream: () => ({ apiKey: 'sk-0123456789', fetch: answer as typeof fetch }),
  });
  return testEndpoint([], {}, { llm });
}

test('the model proxy opens within a second, and comments only between events', async () => {
  const clock = fakeClock();
  const { promise, resolve } = deferred<Response>();
  const target = proxied(() => promise);
  const { response, openedMs, read } = await open(clock, target, { path: llmPath, body: llmBody });
  expect([response.status, openedMs < 1100]).toEqual([200, true]);
  expect(response.headers.get('x-isoloop-keep-alive')).toBe('5000');
  await clock.advance(1100);
  expect(read()).toBe(comment);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const write = (text: string) => writer.write(new TextEncoder().encode(text));
  resolve(new Response(readable, { headers: { 'content-type': 'text/event-stream' } }));
  void write('data: {"a":1}\n\ndata: {"b"');
  await clock.waitFor(() => expect(read()).toBe('data: {"a":1}\n\ndata: {"b"'));
  await clock.advance(20_000);
  expect(read()).toBe('');
  void write(':2}\n');
  await clock.waitFor(() => expect(read()).toBe(':2}\n'));
  void write('\n');
  await clock.waitFor(() => expect(read()).toBe('\n'));
  await clock.advance(5000);
  expect(read()).toContain(comment);
  void writer.close();
  await clock.waitFor(() => expect(clock.pendingTimers()).toBe(0));
});

test.each([
  [
    '/llm/v1/chat/completions',
    llmBody,
    /^: keep-alive\n\ndata: \{"error":\{.*"code":"MODEL_RATE_LIMITED"/,
  ],
  [
    '/llm/v1/responses',
    { model: 'small', stream: true, input: 'Hello?' },
    /^: keep-alive\n\nevent: error\ndata: \{.*"type":"error","code":"MODEL_RATE_LIMITED"/,
  ],
])(
  '%s: an early failure of the model server has its status, and a late one is in the stream',
  async (path, body, text) => {
    const clock = fakeClock();
    const refusals = [Promise.resolve(new Response('{}', { status: 429 }))];
    const target = proxied(() => refusals.shift()!);
    const early = await clock.advanceUntil(target.post(path, body), 50);
    expect(early.status).toBe(429);
    await early.text();
    const { promise, resolve } = deferred<Response>();
    refusals.push(promise);
    const { response, read } = await open(clock, target, { path, body });
    expect(response.status).toBe(200);
    await clock.advance(1100);
    resolve(new Response('{}', { status: 429 }));
    let whole = '';
    await clock.waitFor(() => {
      whole += read();
      expect(whole).toMatch(text);
    });
  },
);

test('the model proxy opens within a second while `upstream` looks for the key', async () => {
  const clock = fakeClock();
  const { promise, resolve } = deferred<{
    readonly apiKey: string;
    readonly fetch: typeof fetch;
  }>();
  const llm = llmProxy({ models: ['small'], upstream: () => promise });
  const target = testEndpoint([], {}, { llm });
  const { response, openedMs, read } = await open(clock, target, { path: llmPath, body: llmBody });
  expect([response.status, openedMs < 1100]).toEqual([200, true]);
  await clock.advance(1100);
  expect(read()).toBe(comment);
  const answer = new Response('data: [DONE]\n\n', {
    headers: { 'content-type': 'text/event-stream' },
  });
  resolve({ apiKey: 'sk-test-1234567', fetch: async () => answer });
  await clock.waitFor(() => expect(read()).toContain('data: [DONE]'));
  await clock.waitFor(() => expect(clock.pendingTimers()).toBe(0));
});

test('an answer that is not streamed waits, because its status is not known', async () => {
  const clock = fakeClock();
  const { reply, release } = lateReply({ text: 'Hello.' });
  const target = testEndpoint([reply]);
  let isOpen = false;
  const body = { model: 'offline', messages };
  const answer = target.post('/v1/chat/completions', body).then((response) => {
    isOpen = true;
    return response;
  });
  await clock.advance(30_000);
  expect(isOpen).toBe(false);
  release();
  expect(await (await answer).text()).toContain('Hello.');
});

test('the endpoint sends keep-alive comments in a silent stream', async () => {
  const target = endpoint([{ hang: true }], { limits: { keepAliveMs: 2, afterDisconnectMs: 0 } });
  const response = await target.post('/api/chat', { id: newChat(), messages: [ask('Hi')] });
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!text.includes(': keep-alive\n\n: keep-alive\n\n'))
    text += decoder.decode((await reader.read()).value);
  await reader.cancel();
  await target.settled();
  expect(text).toContain('"start"');
});
