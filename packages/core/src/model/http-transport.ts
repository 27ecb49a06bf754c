import { AgentError, messageOf } from '../error/agent-error.ts';
import type { ReplyDecoder } from '../formatter/formatter.ts';
import type { ModelDelta } from './chat-model.ts';
import { Deadline } from './deadline.ts';
import { EventReply } from './event-reply.ts';
import { badResponse, errorOfChunk, errorOfResponse, parseJson } from './provider-error.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  /** Default: the global `fetch` at the time of the request. */
  readonly fetch?: Fetch | undefined;
  readonly signal: AbortSignal;
  /** Longest wait for the response, and for each read of it. */
  readonly timeoutMs: number;
}

/** After `[DONE]` a connection gets this long to end, so that it can be used again. */
const closingMs = 500;

/**
 * Sends a request and yields the reply's deltas, one array a network read; the network is read only as far as the caller asks.
 * Rejects with an `AgentError`: its message has the server's words, never a value of the request's headers.
 */
export async function* streamReply(request: HttpRequest, decoder: ReplyDecoder): AsyncGenerator<readonly ModelDelta[], void> {
  const deadline = new Deadline(request.signal, request.timeoutMs);
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    const response = await post(request, deadline);
    const type = response.headers.get('content-type') ?? '';
    if (/\bjson\b/.test(type)) {
      yield decodeWhole(await textOf(response, request, deadline), decoder);
      return;
    }
    if (/\bhtml\b/.test(type) || !response.body) {
      throw badResponse(`The reply is no event stream but '${type}'`, await textOf(response, request, deadline));
    }
    const reply = new EventReply(decoder);
    reader = response.body.getReader();
    for (;;) {
      const bytes = await read(reader, reply, deadline);
      const deltas = bytes ? reply.push(bytes) : reply.end();
      if (deltas.length > 0) yield deltas;
      if (reply.error) throw reply.error;
      if (!bytes) return;
    }
  } finally {
    deadline.end();
    reader?.cancel().catch(() => undefined);
  }
}

async function post(request: HttpRequest, deadline: Deadline): Promise<Response> {
  const { url, headers, body, fetch: send = fetch } = request;
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body, signal: deadline.signal };
  try {
    const response = await deadline.wait(() => send(url, init));
    if (response.ok) return response;
    throw errorOfResponse(response.status, response.headers, await textOf(response, request, deadline));
  } catch (error) {
    if (AgentError.is(error)) throw error;
    throw unreachable(withoutSecrets(`Could not reach ${url}: ${reasonOf(error)}`, request), error);
  }
}

/** The next bytes; nothing at the end. A connection that breaks after the reply's end has ended, too. */
async function read(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reply: EventReply,
  deadline: Deadline,
): Promise<Uint8Array | undefined> {
  try {
    const { value } = await deadline.wait(() => reader.read(), reply.done ? closingMs : undefined);
    return value;
  } catch (error) {
    if (reply.done || (reply.finished && !deadline.reason)) return undefined;
    throw brokenOff(error);
  }
}

function decodeWhole(text: string, decoder: ReplyDecoder): readonly ModelDelta[] {
  const deltas: ModelDelta[] = [];
  const body = parseJson(text);
  const error = errorOfChunk(body);
  if (error) throw error;
  decoder.decode(body, deltas);
  if (deltas.length === 0 && !decoder.finished) throw badResponse('The reply is no completion', text);
  return [...deltas, decoder.end()];
}

async function textOf(response: Response, request: HttpRequest, deadline: Deadline): Promise<string> {
  try {
    return withoutSecrets(await deadline.wait(() => response.text()), request);
  } catch (error) {
    throw brokenOff(error);
  }
}

/** Servers and runtimes quote what they were sent, a wrong key for one. */
function withoutSecrets(text: string, { headers }: HttpRequest): string {
  const secrets = Object.values(headers).map((value) => value.replace(/^Bearer /, ''));
  return secrets.reduce((clean, secret) => (secret.length < 8 ? clean : clean.replaceAll(secret, '***')), text);
}

function brokenOff(cause: unknown): AgentError {
  if (AgentError.is(cause)) return cause;
  return unreachable(`The connection broke before the reply's end: ${reasonOf(cause)}`, cause);
}

function unreachable(message: string, cause: unknown): AgentError {
  return new AgentError('MODEL_UNREACHABLE', message, { cause, retryable: true });
}

/** Node says `fetch failed` and hides the reason in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)} (${messageOf(cause)})`;
}
