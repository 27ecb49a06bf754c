/// <reference path="../../../../../test/provider-server/provided-context.d.ts" />
import { expect, inject, test, vi } from 'vitest';
import goldenText from '@test/fixtures/golden/openai-replies.json?raw';
import type { AgentError, AgentErrorCode } from '../../error/agent-error.ts';
import { userMessage } from '../../message/msg.ts';
import type { ChatModel } from '../chat-model.ts';
import { openai, type OpenAiOptions } from './openai.ts';
import type { Fetch } from '../http/http-model.ts';
import { abortHanging, leaveHanging } from '@test/support/closed-connection.ts';
import { outcomeOf, readerOf } from '@test/support/model-outcome.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';

const golden = JSON.parse(goldenText) as Record<
  string,
  { readonly text: string; readonly reason: string; readonly usage?: unknown }
>;

const at = (path: string, options: Partial<OpenAiOptions> = {}): ChatModel =>
  openai({ model: 'm', baseURL: `${inject('providerUrl')}${path}`, ...options });

/** Creates a model whose server returns this response. */
const served = (
  respond: (init: RequestInit) => Response,
  options: Partial<OpenAiOptions> = {},
): ChatModel => {
  const serve: Fetch = async (_, init) => respond(init);
  return openai({ model: 'm', fetch: serve, ...options });
};

const eventStream = (body: BodyInit): Response =>
  new Response(body, { headers: { 'content-type': 'text/event-stream' } });

const event = (content: string, finishReason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finishReason }] })}\n\n`;

/**
 * Creates a body that emits one of these pieces per read and then stays open. `state` has the
 * number of reads and whether the body was canceled.
 */
const openBody = (...pieces: readonly string[]) => {
  const state = { reads: 0, cancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[state.reads++];
        if (piece === undefined) return new Promise<never>(() => undefined);
        controller.enqueue(new TextEncoder().encode(piece));
        return undefined;
      },
      cancel() {
        state.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { state, stream };
};

const errorOf = async (model: ChatModel): Promise<AgentError> =>
  (await outcomeOf(model)).error ?? expect.unreachable('no error');

test.each(Object.keys(golden))('openai() reads the recorded stream %s', async (name) => {
  const { text, reason, usage } = golden[name]!;
  const outcome = await outcomeOf(at(`/replay/${name}/v1`));
  expect(outcome).toMatchObject({ text, finish: { reason } });
  expect(outcome.finish?.usage).toEqual(usage);
  expect(outcome.error).toBeUndefined();
});

test.each(['bytewise', 'crlf', 'cr', 'bom', 'comments', 'no-done', 'json'])(
  'openai() accepts a stream of the variant %s',
  async (fault) => {
    expect(await outcomeOf(at(`/fault/${fault}/v1`))).toMatchObject({
      text: 'Hello, world.',
      finish: { reason: 'stop', usage: { inputTokens: 10 } },
    });
  },
);

test('openai() reads characters that are split over several reads, and an event of four megabytes', async () => {
  expect((await outcomeOf(at('/fault/split-utf8/v1'))).text).toBe(
    '東京の天気は晴れです。 北京今天多云，气温二十度。 서울은 맑습니다. 🌤️👩‍💻',
  );
  expect((await outcomeOf(at('/fault/huge/v1'))).text.length).toBe(4 * 1024 * 1024);
});

test.each<[fault: string, code: AgentErrorCode, retryable: boolean, words: string]>([
  ['400', 'MODEL_REQUEST', false, "Invalid value for 'temperature'."],
  ['401', 'MODEL_AUTH', false, 'Incorrect API key provided.'],
  ['403', 'MODEL_AUTH', false, 'Country not supported.'],
  ['404', 'MODEL_REQUEST', false, 'The model does not exist.'],
  ['429', 'MODEL_RATE_LIMITED', true, 'Rate limit reached.'],
  ['500', 'MODEL_SERVER', true, 'The server had an error.'],
  ['503-text', 'MODEL_SERVER', true, 'upstream connect error'],
  ['context-length', 'MODEL_CONTEXT_LENGTH', false, 'maximum context length is 128000'],
  ['html', 'MODEL_BAD_RESPONSE', false, 'Log in'],
  ['empty', 'MODEL_BAD_RESPONSE', true, 'not an event stream'],
  ['json-error', 'MODEL_SERVER', true, 'No such deployment.'],
])(
  'the fault %s before the reply is an error with code %s',
  async (fault, code, retryable, words) => {
    const { text, error } = await outcomeOf(at(`/fault/${fault}/v1`));
    expect([text, error?.code, error?.retryable]).toEqual(['', code, retryable]);
    expect(error?.message).toContain(words);
  },
);

test.each<[fault: string, code: AgentErrorCode, retryable: boolean, words: string]>([
  ['cut-clean', 'MODEL_BAD_RESPONSE', true, 'ended early: {"id"'],
  ['no-finish', 'MODEL_BAD_RESPONSE', true, 'no finish reason'],
  ['bad-json', 'MODEL_BAD_RESPONSE', false, 'malformed: {"choices":[{"delta":{"content": oops xxx'],
  ['error-event', 'MODEL_REQUEST', false, 'Failed to call a function.'],
  ['error-object', 'MODEL_SERVER', true, 'Provider disconnected unexpectedly'],
  ['error-rate-limit', 'MODEL_RATE_LIMITED', true, 'Slow down.'],
])(
  'the fault %s within the reply is an error with code %s, after the text before the fault',
  async (fault, code, retryable, words) => {
    const { text, error, finish } = await outcomeOf(at(`/fault/${fault}/v1`));
    expect([error?.code, error?.retryable]).toEqual([code, retryable]);
    expect(text).toMatch(/^Hello/);
    expect(finish).toBeUndefined();
    expect(error?.message).toContain(words);
    expect(error?.message.length).toBeLessThan(300);
  },
);

test('a connection that breaks within the reply is reported', async () => {
  // The runtime decides how much of the text arrives before the error.
  const { finish, error } = await outcomeOf(at('/fault/cut/v1'));
  expect([error?.code, error?.retryable, finish]).toEqual(['MODEL_UNREACHABLE', true, undefined]);
  expect(error?.message).toContain(
    `${inject('providerUrl')}/fault/cut/v1/chat/completions failed: `,
  );
});

test('the error about a rate limit says how long to wait', async () => {
  expect((await errorOf(at('/fault/429/v1'))).details).toEqual({
    status: 429,
    providerCode: 'rate_limit_exceeded',
    retryAfterMs: 2000,
  });
});

test('an address without a server is reported', async () => {
  const error = await errorOf(openai({ model: 'm', baseURL: 'http://127.0.0.1:9/v1' }));
  expect([error.code, error.retryable]).toEqual(['MODEL_UNREACHABLE', true]);
  expect(error.message).toContain('http://127.0.0.1:9/v1');
});

test('openai() sends body, key and headers', async () => {
  const apiKey = vi.fn(async () => ' key-1\n');
  const model = at('/echo/v1/', { apiKey, headers: { 'x-team': 'a' } });
  for (let calls = 1; calls <= 2; calls++) {
    const { text } = await outcomeOf(model, { messages: [userMessage('東京')], maxTokens: 9 });
    expect(JSON.parse(text)).toMatchObject({
      path: '/echo/v1/chat/completions',
      headers: { authorization: 'Bearer key-1', 'x-team': 'a', 'content-type': 'application/json' },
      body: {
        model: 'm',
        stream: true,
        max_tokens: 9,
        messages: [{ role: 'user', content: '東京' }],
      },
    });
    expect(apiKey).toHaveBeenCalledTimes(calls);
  }
});

test('without a key no authorization header is sent, and `headers` may contain one', async () => {
  const headersOf = async (options: Partial<OpenAiOptions>) =>
    JSON.parse((await outcomeOf(at('/echo/v1', options))).text).headers as Record<string, string>;
  expect(await headersOf({})).not.toHaveProperty('authorization');
  expect(
    (await headersOf({ apiKey: 'k', headers: { authorization: 'Basic x' } }))['authorization'],
  ).toBe('Basic x');
});

test('the name of the field for the token limit depends on the server', async () => {
  const fieldAt = async (baseURL: string | undefined, options: Partial<OpenAiOptions> = {}) => {
    let body = '';
    const model = served(
      (init) => {
        body = String(init.body);
        return eventStream('data: [DONE]\n\n');
      },
      { ...(baseURL === undefined ? {} : { baseURL }), ...options },
    );
    await outcomeOf(model, { maxTokens: 7 });
    return Object.keys(JSON.parse(body)).filter((key) => key.startsWith('max_'));
  };
  expect(await fieldAt(undefined)).toEqual(['max_completion_tokens']);
  expect(await fieldAt('https://x.openai.azure.com/openai/v1')).toEqual(['max_completion_tokens']);
  expect(await fieldAt('https://api.deepseek.com/v1')).toEqual(['max_tokens']);
  expect(await fieldAt('https://notopenai.com/v1')).toEqual(['max_tokens']);
  const gateway = 'https://gateway.ai.cloudflare.com/v1/a/g/compat';
  expect(await fieldAt(gateway, { model: 'openai/gpt-5.4' })).toEqual(['max_completion_tokens']);
  expect(await fieldAt(gateway, { model: 'openai/gpt-4o' })).toEqual(['max_tokens']);
  expect(await fieldAt(undefined, { maxTokensField: 'max_tokens' })).toEqual(['max_tokens']);
});

test('an API key that the server quotes is removed from the error', async () => {
  const apiKey = 'sk-secret-0123456789';
  const quoting = `{"error":{"message":"Wrong key ${apiKey} given"}}`;
  const errors = [
    await errorOf(served(() => new Response(quoting, { status: 401 }), { apiKey })),
    await errorOf(
      served(() => new Response(`<p>${apiKey}`, { headers: { 'content-type': 'text/html' } }), {
        apiKey,
      }),
    ),
    await errorOf(served(() => expect.unreachable(`Invalid header Bearer ${apiKey}`), { apiKey })),
    await errorOf(openai({ model: 'm', apiKey: `${apiKey}\n東京` })),
  ];
  expect(errors.map((error) => error.code)).toEqual([
    'MODEL_AUTH',
    'MODEL_BAD_RESPONSE',
    'MODEL_UNREACHABLE',
    'CONFIGURATION',
  ]);
  expect(JSON.stringify(errors)).not.toContain(apiKey);
  expect(errors[0]?.message).toContain('Wrong key *** given');
});

test.each([
  '301/far',
  '302/far',
  '303/far',
  '307/far',
  '308/far',
  '307/near',
  '308/near',
  '303/near',
  '307/loop',
  '307/nowhere',
])('openai() sends nothing to the target of the redirect %s', async (path) => {
  const apiKey = 'sk-secret-0123456789';
  const { text, error } = await outcomeOf(at(`/redirect/${path}/echo/v1`, { apiKey }));
  expect([text, error?.code, error?.retryable]).toEqual(['', 'MODEL_BAD_RESPONSE', false]);
  expect(error?.message).toContain('redirects');
  expect(error?.message).toContain('baseURL');
});

test.each([
  'https://elsewhere.test/v1',
  'http://api.openai.com/v1',
  'https://api.openai.com:444/v1',
  'https://api.openai.com.elsewhere.test/',
  '//elsewhere.test/v1',
  'javascript:alert(1)',
  'https://',
])(
  'a redirect to %s is not followed, and the error quotes its address without the query',
  async (location) => {
    const seen: string[] = [];
    const serve: Fetch = async (url, init) => {
      seen.push(`${url} ${init.redirect}`);
      const query = '?key=sk-secret-0123456789';
      return new Response('moved', { status: 307, headers: { location: location + query } });
    };
    const { text, error } = await outcomeOf(openai({ model: 'm', apiKey: 'k', fetch: serve }));
    expect([text, error?.code]).toEqual(['', 'MODEL_BAD_RESPONSE']);
    expect(error?.message).not.toContain('sk-secret');
    expect(seen).toEqual(['https://api.openai.com/v1/chat/completions manual']);
  },
);

test('openai() does not wait for the body of a redirect', async () => {
  const { state, stream } = openBody('moved');
  const error = await errorOf(
    served(() => new Response(stream, { status: 307, headers: { location: 'https://x.test/' } })),
  );
  expect([error.code, state.cancelled]).toEqual(['MODEL_BAD_RESPONSE', true]);
});

test('a redirect to a relative address is rejected if `baseURL` is relative too', async () => {
  const error = await errorOf(
    served(() => new Response(null, { status: 307, headers: { location: '/v2' } }), {
      baseURL: '/llm/v1',
    }),
  );
  expect(error.code).toBe('MODEL_BAD_RESPONSE');
});

const secret = 'sk-se+cret/0123456789';

/** Returns everything that a log could show of an error: its fields, stacks and causes. */
function shown(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error) ?? '';
  const { stack, message, cause } = error;
  const { errors = [] } = error as Partial<AggregateError>;
  return [stack, message, JSON.stringify(error), shown(cause), ...errors.map(shown)].join('\n');
}

const events = (data: unknown): Response =>
  eventStream(`${event('Hi')}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);

test.each<[how: string, respond: () => Response]>([
  [
    'in an error body',
    () => new Response(`{"error":{"message":"bad ${secret}"}}`, { status: 401 }),
  ],
  ['in plain text', () => new Response(secret, { status: 500 })],
  [
    'escaped in JSON',
    () => new Response('{"error":{"message":"sk\\u002dse+cret\\/0123456789"}}', { status: 400 }),
  ],
  ['encoded as in an address', () => new Response(encodeURIComponent(secret), { status: 400 })],
  ['cut at the end of the quote', () => new Response(`${'x'.repeat(185)}${secret}`)],
  ['in an error within the reply', () => events({ error: { message: secret, code: 500 } })],
  [
    'as the code of an error within the reply',
    () => events({ error: { message: 'no', code: secret } }),
  ],
  ['in a malformed event', () => events(`{"choices": ${secret}`)],
  ['in an error event', () => eventStream(`event: error\ndata: ${secret}\n\n`)],
  ['in no event', () => new Response(secret)],
  [
    'in a redirect',
    () => new Response(null, { status: 307, headers: { location: `https://x.test/?k=${secret}` } }),
  ],
  ['with a status that is not an error', () => new Response(secret, { status: 300 })],
  [
    'in an exception',
    () => {
      throw new TypeError(`Invalid header value Bearer ${secret}`);
    },
  ],
  [
    'in the cause of an exception',
    () => {
      throw new TypeError('fetch failed', { cause: new Error(secret) });
    },
  ],
  [
    'in several causes',
    () => {
      throw new TypeError('fetch failed', {
        cause: new AggregateError([new Error(secret)], secret),
      });
    },
  ],
  [
    'in a text as an exception',
    () => {
      throw secret;
    },
  ],
])(
  'an API key quoted %s appears in no field, stack or cause of the error',
  async (_how, respond) => {
    for (const options of [
      { apiKey: secret },
      { apiKey: ` ${secret}\n` },
      { headers: { authorization: `bearer ${secret}` } },
      { headers: { 'api-key': secret } },
      { headers: { 'x-key': `${secret} ` } },
    ]) {
      const error = await errorOf(served(respond, options));
      const text = shown(error);
      expect([text.includes('cret/01'), text.includes('cret%2F01')]).toEqual([false, false]);
    }
  },
);

test('secrets in the address of a request appear in no error', async () => {
  const lost = (url: string): never => {
    throw new TypeError(`Cannot request ${url}`);
  };
  const baseURL = 'https://ann:pass-12345678@x.test/v1';
  const error = await errorOf(openai({ model: 'm', baseURL, fetch: lost as unknown as Fetch }));
  expect([error.code, shown(error).includes('pass-1234')]).toEqual(['MODEL_UNREACHABLE', false]);
  expect(error.message).toContain('x.test');
});

test('an error that a custom fetch throws is shown as the cause in the stack', async () => {
  const lost = (): never => {
    throw new Error('no network here');
  };
  const error = await errorOf(served(lost));
  expect(error.message).toContain('no network here');
  expect(error.stack).toContain('Caused by: Error: no network here');
});

test('an `apiKey` function that fails causes an error with code MODEL_AUTH', async () => {
  const error = await errorOf(
    at('/echo/v1', { apiKey: () => Promise.reject(new Error('signed out')) }),
  );
  expect([error.code, error.message]).toEqual(['MODEL_AUTH', 'signed out']);
});

test('a signal that was aborted before the request prevents the request', async () => {
  const request = vi.fn(() => eventStream('data: [DONE]\n\n'));
  const reason = new Error('enough');
  await expect(
    readerOf(served(request), {}, AbortSignal.abort(reason)).next(),
  ).rejects.toMatchObject({ code: 'ABORTED', cause: reason });
  expect(request).not.toHaveBeenCalled();
});

test.each(['hang', 'hang-mid'])(
  'an abort while the server has the fault %s ends the wait and closes the connection',
  async (fault) => {
    expect(await abortHanging((headers) => at(`/fault/${fault}/v1`, { headers }), fault)).toEqual({
      error: expect.objectContaining({ code: 'ABORTED', cause: 'enough', retryable: false }),
      departed: true,
    });
  },
);

test('the connection is closed when the reader stops reading', async () => {
  const hanging = leaveHanging((headers) => at('/fault/hang-mid/v1', { headers }));
  expect(await hanging).toEqual({ departed: true });
});

test('openai() reads from the network only when the reader reads, and returns the deltas of one read together', async () => {
  const { state, stream } = openBody(event('a') + event('b'), event('c'), event('d'));
  const deltas = readerOf(served(() => eventStream(stream)));
  expect((await deltas.next()).value).toMatchObject([{ delta: 'a' }, { delta: 'b' }]);
  expect(state.reads).toBe(1);
  expect((await deltas.next()).value).toMatchObject([{ delta: 'c' }]);
  expect(state.reads).toBe(2);
  await deltas.return?.();
  expect(state).toEqual({ reads: 2, cancelled: true });
});

test('after an abort, openai() does not wait for a custom fetch that ignores the signal', async () => {
  const controller = new AbortController();
  const { state, stream } = openBody(event('a'));
  const deltas = readerOf(
    served(() => eventStream(stream)),
    {},
    controller.signal,
  );
  await deltas.next();
  const next = deltas.next();
  controller.abort();
  await expect(next).rejects.toMatchObject({ code: 'ABORTED' });
  expect(state.cancelled).toBe(true);
});

test('a server that sends nothing for `timeoutMs` causes MODEL_TIMEOUT', async () => {
  expect(await errorOf(at('/fault/hang/v1', { timeoutMs: 50 }))).toMatchObject({
    code: 'MODEL_TIMEOUT',
    retryable: true,
  });
});

test('the time between reads by the reader does not count as silence of the server', async () => {
  const clock = fakeClock();
  const { stream } = openBody(event('a'), event('b'));
  const deltas = readerOf(served(() => eventStream(stream), { timeoutMs: 1000 }));
  await deltas.next();
  clock.advanceSync(5000);
  expect((await deltas.next()).value).toMatchObject([{ delta: 'b' }]);
  const next = deltas.next();
  clock.advanceSync(1000);
  await expect(next).rejects.toMatchObject({ code: 'MODEL_TIMEOUT' });
});

test('a connection that stays open after [DONE] is closed', async () => {
  const clock = fakeClock();
  const { state, stream } = openBody(`${event('a', 'stop')}data: [DONE]\n\n`);
  const deltas = readerOf(served(() => eventStream(stream)));
  expect((await deltas.next()).value).toMatchObject([
    { delta: 'a' },
    { type: 'finish', reason: 'stop' },
  ]);
  const end = deltas.next();
  await clock.advance(1000);
  expect(await end).toEqual({ done: true, value: undefined });
  expect(state.cancelled).toBe(true);
});

test('if the connection breaks after the finish reason, the reply is complete', async () => {
  const pieces = [event('a', 'stop')];
  const body = new ReadableStream({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) controller.error(new Error('reset'));
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  });
  expect(await outcomeOf(served(() => eventStream(body)))).toMatchObject({
    text: 'a',
    finish: { type: 'finish', reason: 'stop', metadata: {} },
  });
});

test.each([
  ['a last event without its blank line', `${event('a', 'stop')}data: [DONE]`],
  ['text after the end', `${event('a', 'stop')}data: [DONE]\n\nnonsense\n\n${event('b')}`],
  [
    'events without data, and with names of their own',
    `event: ping\ndata: {}\n\ndata:\n\n${event('a', 'stop')}`,
  ],
  ['an incomplete usage', `${event('a', 'stop')}data: {"choices":[],"usa`],
])('openai() accepts a stream with %s', async (_, body) => {
  expect(await outcomeOf(served(() => eventStream(body)))).toMatchObject({
    text: 'a',
    finish: { reason: 'stop' },
  });
});

test('an event stream with another content type is accepted, but another text is not', async () => {
  const respond = (body: string) =>
    served(() => new Response(body, { headers: { 'content-type': 'text/plain' } }));
  expect(await outcomeOf(respond(`${event('a', 'stop')}`))).toMatchObject({
    text: 'a',
    finish: { reason: 'stop' },
  });
  expect(await errorOf(respond('Service is being updated'))).toMatchObject({
    code: 'MODEL_BAD_RESPONSE',
    message: expect.stringMatching(
      /^The reply is not an event stream\..*: Service is being updated$/,
    ),
  });
});

test.each(['not JSON', '{}', '[]', '{"choices":[]}'])(
  'a JSON reply %j that is not a completion is rejected',
  async (body) => {
    const model = served(
      () => new Response(body, { headers: { 'content-type': 'application/json' } }),
    );
    expect(await errorOf(model)).toMatchObject({ code: 'MODEL_BAD_RESPONSE', retryable: false });
  },
);
