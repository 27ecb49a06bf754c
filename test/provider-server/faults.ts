import {
  chunk,
  completion,
  done,
  event,
  openEventStream,
  textEvents,
  write,
  writePieces,
} from './event-stream.ts';
import { sendError, sendJson, type Exchange, type Handler } from './exchange.ts';

/** Text in several scripts. Each character except the spaces has three or four bytes. */
export const cjkText = '東京の天気は晴れです。 北京今天多云，气温二十度。 서울은 맑습니다. 🌤️👩‍💻';

export const hugeText = '0123456789abcdef'.repeat(256 * 1024);

const answer = ['Hello', ', ', 'world', '.'];
const encoder = new TextEncoder();

/** Handlers of `/fault/NAME/v1`. Each handler shows one fault of a server. */
export const faults: Readonly<Record<string, Handler>> = {
  '400': ({ response }) =>
    sendError(response, 400, {
      message: "Invalid value for 'temperature'.",
      code: 'invalid_value',
    }),
  '401': ({ response }) =>
    sendError(response, 401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' }),
  '403': ({ response }) => sendError(response, 403, { message: 'Country not supported.' }),
  '404': ({ response }) =>
    sendError(response, 404, { message: 'The model does not exist.', code: 'model_not_found' }),
  '429': ({ response }) =>
    sendError(
      response,
      429,
      { message: 'Rate limit reached.', code: 'rate_limit_exceeded' },
      { 'retry-after': '2' },
    ),
  '429-date': ({ response }) =>
    sendError(
      response,
      429,
      { message: 'Rate limit reached.' },
      { 'retry-after': new Date(Date.now() + 60_000).toUTCString() },
    ),
  '500': ({ response }) =>
    sendError(response, 500, { message: 'The server had an error.', type: 'server_error' }),
  '503-text': ({ response }) =>
    void response.writeHead(503, { 'content-type': 'text/plain' }).end('upstream connect error'),
  'context-length': ({ response }) =>
    sendError(response, 400, {
      message:
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      code: 'context_length_exceeded',
    }),

  /** Never answers. */
  hang: () => undefined,
  /** Two events, then silence. */
  'hang-mid': async ({ response, body }) => {
    openEventStream(response);
    await writePieces(response, events(body.model).slice(0, 2));
  },
  /** The beginning of a call of the first tool, then silence. */
  'hang-call': async ({ response, body: { model = 'fault', tools = [] } }) => {
    openEventStream(response);
    const called = { name: tools[0]?.function.name ?? '', arguments: '{"' };
    const call = { index: 0, id: 'call_1', type: 'function', function: called } as const;
    await writePieces(response, [event(chunk(model, { tool_calls: [call] }))]);
  },
  /** The connection breaks in the middle of an event. */
  cut: async ({ response, body }) => {
    openEventStream(response);
    const text = events(body.model).slice(0, 3).join('');
    await writePieces(response, [text.slice(0, -30)]);
    response.destroy();
  },
  /** The body ends in the middle of an event, although HTTP ends it properly. */
  'cut-clean': async ({ response, body }) => {
    openEventStream(response);
    response.end(events(body.model).slice(0, 3).join('').slice(0, -30));
  },
  /** The stream ends between two events, without a finish reason and without `[DONE]`. */
  'no-finish': ({ response, body }) => stream(response, events(body.model).slice(0, 3)),
  'no-done': ({ response, body }) => stream(response, events(body.model).slice(0, -1)),
  empty: ({ response }) => stream(response, []),

  bytewise: async ({ response, body }) => {
    openEventStream(response);
    await writePieces(response, pieces(encoder.encode(events(body.model).join('')), 1));
    response.end();
  },
  crlf: ({ response, body }) =>
    stream(response, [events(body.model).join('').replaceAll('\n', '\r\n')]),
  cr: ({ response, body }) =>
    stream(response, [events(body.model).join('').replaceAll('\n', '\r')]),
  bom: ({ response, body }) => stream(response, ['\uFEFF', ...events(body.model)]),
  /**
   * Chinese, Japanese and Korean text and emoji, in writes of two bytes, so that no such character
   * arrives in one piece.
   */
  'split-utf8': async ({ response, body }) => {
    openEventStream(response);
    const text = textEvents(body.model ?? 'fault', [cjkText]).join('');
    await writePieces(response, pieces(encoder.encode(text), 2));
    response.end();
  },
  /** One event of four megabytes. */
  huge: ({ response, body }) => stream(response, textEvents(body.model ?? 'fault', [hugeText])),
  comments: ({ response, body }) =>
    stream(
      response,
      events(body.model).map((text) => `: PROCESSING\n\n${text}`),
    ),

  html: ({ response }) =>
    void response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><title>Log in</title><p>Please log in.</p>'),
  json: ({ response, body }) =>
    sendJson(response, 200, completion(body.model ?? 'fault', answer.join(''))),
  'json-error': ({ response }) =>
    sendJson(response, 200, { error: { message: 'No such deployment.', code: 'not_found' } }),
  'bad-json': ({ response, body }) =>
    stream(response, [
      ...events(body.model).slice(0, 3),
      `data: {"choices":[{"delta":{"content": oops ${'x'.repeat(1000)}}}]}\n\n`,
      done,
    ]),
  /** An error in the stream, in the format of Groq. */
  'error-event': ({ response, body }) =>
    stream(response, [
      ...events(body.model).slice(0, 3),
      `event: error\n${event({ error: { message: 'Failed to call a function.', code: 'tool_use_failed', status_code: 400 } })}`,
      done,
    ]),
  /** An error in the stream, in the format of OpenRouter. */
  'error-object': ({ response, body }) =>
    stream(response, [
      ...events(body.model).slice(0, 3),
      event({
        ...chunk('fault', { content: '' }, 'error'),
        error: { code: 502, message: 'Provider disconnected unexpectedly' },
      }),
      done,
    ]),
  'error-rate-limit': ({ response, body }) =>
    stream(response, [
      ...events(body.model).slice(0, 3),
      event({ error: { message: 'Slow down.', code: 429 } }),
      done,
    ]),
};

export async function fault(exchange: Exchange): Promise<void> {
  const name = exchange.parameters[0] ?? '';
  const handler = Object.hasOwn(faults, name) ? faults[name] : undefined;
  if (!handler)
    return sendError(exchange.response, 404, {
      message: `No fault '${name}'. There are: ${Object.keys(faults).join(', ')}`,
    });
  await handler(exchange);
}

function events(model = 'fault'): string[] {
  return textEvents(model, answer);
}

async function stream(response: Exchange['response'], parts: readonly string[]): Promise<void> {
  openEventStream(response);
  for (const part of parts) await write(response, part);
  response.end();
}

function* pieces(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size)
    yield bytes.subarray(start, start + size);
}
