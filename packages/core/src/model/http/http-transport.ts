import { AgentError, isError, errorText, fieldOf } from '../../error/agent-error.ts';
import type { ReplyDecoder } from '../formatter/formatter.ts';
import type { JsonObject } from '../../message/json.ts';
import type { ReplyStream } from '../chat-model.ts';
import { Deadline } from '../../wait/deadline.ts';
import { ReplyLength } from '../reply/reply-length.ts';
import { addressOf, baseUrlHint, pageAdvice } from './base-url.ts';
import { EventReply } from './event-reply.ts';
import type { Fetch } from './http-model.ts';
import { errorOfResponse } from './provider-error.ts';
import { withoutSecrets } from './without-secrets.ts';

/**
 * Time, in milliseconds, to wait for the connection to end after the reply. Only then can the
 * connection be reused.
 */
const closingMs = 500;
/** Length after which no more of an error's text is read, in characters. */
const maxErrorLength = 65_536;

type Reader = ReadableStreamDefaultReader<Uint8Array>;

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Body of a POST as JSON text. Without it, the request is a GET. */
  readonly body?: string | undefined;
  /** Path at the end of most base URLs of this API. Default: `/v1`. */
  readonly api?: string | undefined;
  /** `fetch` function to use. Default: the global `fetch` at the time of the request. */
  readonly fetch?: Fetch | undefined;
  readonly signal: AbortSignal;
  /** Maximum wait for the response, and then for content, in milliseconds. Default: 5 minutes. */
  readonly timeoutMs?: number | undefined;
  /** Maximum length of the reply, in characters. Default: no limit. */
  readonly replyLength?: number | undefined;
}

/**
 * Sends the request that `prepare` returns, and yields the deltas of the reply, one array for each
 * network read, even if it is empty. Reads from the network only when the caller asks for the next
 * array. Rejects with an `AgentError`. Its message may quote the server's text, but never the value
 * of a header.
 */
export async function* streamReply(
  prepare: () => HttpRequest | Promise<HttpRequest>,
  decoder: ReplyDecoder,
): ReplyStream {
  const request = await prepare();
  const deadline = new Deadline(request.signal, request.timeoutMs);
  const length = new ReplyLength(request.replyLength);
  let reader: Reader | undefined;
  try {
    const { ok, status, headers, body } = await send(request, deadline);
    reader = body?.getReader();
    if (!ok) {
      const text = await readError(status, reader, deadline);
      throw errorOfResponse(status, headers, text, baseUrlHint(request));
    }
    const reply = new EventReply(decoder);
    for (;;) {
      const bytes = await read(reader, reply, deadline);
      const deltas = bytes ? reply.push(bytes) : reply.end(request);
      length.checkBuffered(reply.bufferedLength);
      if (deltas.length) deadline.reset();
      if (bytes || deltas.length) yield deltas;
      if (reply.error) throw reply.error;
      if (!bytes) return;
    }
  } catch (error) {
    if (error === deadline.signal.reason) throw error;
    throw toSafeError(error, request, pageAdvice(!reader));
  } finally {
    deadline.end();
    reader?.cancel().catch(() => {});
  }
}

/** Sends the request. Follows no redirect, so that no other server gets the key or the prompt. */
function send(request: HttpRequest, deadline: Deadline): Promise<Response> {
  const { url, headers, body, fetch: fetchFunction = fetch } = request;
  const { signal } = deadline;
  const post = body !== undefined && {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  };
  return deadline.wait(() => fetchFunction(url, { headers, ...post, signal, redirect: 'manual' }));
}

/** Returns the beginning of an error's text. Does not read the body of a redirect. */
async function readError(
  status: number,
  reader: Reader | undefined,
  deadline: Deadline,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  while (reader && status >= 400 && text.length < maxErrorLength) {
    const { value } = await deadline.listen(() => reader.read());
    if (!value) break;
    text += decoder.decode(value, { stream: true });
  }
  return text;
}

/**
 * Returns the next bytes, or `undefined` at the end. If the connection breaks after the finish
 * reason, this also counts as the end. Drops what a server sends after the end of the reply.
 */
async function read(
  reader: Reader | undefined,
  { decoder, done }: EventReply,
  deadline: Deadline,
): Promise<Uint8Array | undefined> {
  if (done || decoder.isComplete) {
    // Nothing has to follow. The connection gets a moment to end by itself.
    if (!done) deadline.signal.throwIfAborted();
    await deadline.wait(async () => reader?.read(), closingMs).catch(() => {});
    return undefined;
  }
  try {
    return reader && (await deadline.listen(() => reader.read())).value;
  } catch (error) {
    if (decoder.finishReason && !deadline.signal.aborted) return undefined;
    throw error;
  }
}

/**
 * Converts any error to an `AgentError` without secrets, also in its stack and details. It has no
 * cause, because a cause could quote them. An error that is not an `AgentError` comes from `fetch`
 * or from the body. In Node, the reason of such an error is its `cause`. `advice` follows the
 * reason.
 */
function toSafeError(error: unknown, request: HttpRequest, advice: string): AgentError {
  const clean = (text: string): string => withoutSecrets(text, request);
  if (AgentError.is(error)) {
    const { code, message, retryable, details } = error;
    const cleanDetails = details && (JSON.parse(clean(JSON.stringify(details))) as JsonObject);
    const options = { retryable, details: cleanDetails };
    return withCauseInStack(new AgentError(code, clean(message), options), error.cause, clean);
  }
  const reason = fieldOf(error, 'cause') ?? error;
  const failure = new AgentError(
    'MODEL_UNREACHABLE',
    clean(`The connection to ${addressOf(request.url)} failed: ${errorText(reason)}${advice}`),
    { retryable: true },
  );
  return withCauseInStack(failure, reason, clean);
}

function withCauseInStack(
  failure: AgentError,
  cause: unknown,
  clean: (text: string) => string,
): AgentError {
  if (isError(cause)) failure.stack += clean(`\nCaused by: ${cause.stack}`);
  return failure;
}
