import { AgentError, messageOf } from '../error/agent-error.ts';
import type { ReplyDecoder } from './formatter.ts';
import type { ModelDelta } from '../model/chat-model.ts';
import { Deadline } from '../model/deadline.ts';
import { EventReply } from './event-reply.ts';
import { errorOfResponse } from './provider-error.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
  /** Default: the global `fetch` at the time of the request. */
  readonly fetch?: Fetch | undefined;
  readonly signal: AbortSignal;
  /** Longest wait for the response and for each read of it, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Time, in milliseconds, that a connection gets to end after `[DONE]`, so that it can be reused.
 */
const closingMs = 500;

/**
 * Sends a request and yields the reply's deltas, one array for each network read. It reads the
 * network only as far as the caller asks. Rejects with an `AgentError`: its message may quote the
 * server's text, but never a value of the request's headers.
 */
export async function* streamReply(
  request: HttpRequest,
  decoder: ReplyDecoder,
): AsyncGenerator<readonly ModelDelta[], void> {
  const deadline = new Deadline(request.signal, request.timeoutMs);
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    const { url, headers, body, fetch: send = fetch } = request;
    const response = await deadline.wait(() =>
      send(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        signal: deadline.signal,
      }),
    );
    if (!response.ok) {
      const text = await deadline.wait(() => response.text());
      throw errorOfResponse(response.status, response.headers, withoutSecrets(text, request));
    }
    const reply = new EventReply(decoder);
    reader = response.body?.getReader();
    for (;;) {
      const bytes = await read(reader, reply, deadline);
      const deltas = bytes ? reply.push(bytes) : reply.end();
      if (deltas.length) yield deltas;
      if (reply.error) throw reply.error;
      if (!bytes) return;
    }
  } catch (error) {
    throw readable(error, request);
  } finally {
    deadline.end();
    reader?.cancel().catch(() => undefined);
  }
}

/**
 * Returns the next bytes, or `undefined` at the end. A connection that breaks after the reply's end
 * counts as ended.
 */
async function read(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  reply: EventReply,
  deadline: Deadline,
): Promise<Uint8Array | undefined> {
  try {
    return (
      reader && (await deadline.wait(() => reader.read(), reply.done ? closingMs : undefined)).value
    );
  } catch (error) {
    if (reply.done || (reply.finished && !deadline.signal.aborted)) return undefined;
    throw error;
  }
}

/**
 * Converts a rejection to an `AgentError`. Other errors come from `fetch` or the body: Node says
 * `fetch failed` and keeps the reason as the cause.
 */
function readable(error: unknown, request: HttpRequest): AgentError {
  const reason = (error as Error | undefined)?.cause ?? error;
  const failure = AgentError.is(error)
    ? error
    : new AgentError(
        'MODEL_UNREACHABLE',
        `The connection to ${request.url} failed: ${messageOf(reason)}`,
        {
          cause: error,
          retryable: true,
        },
      );
  failure.message = withoutSecrets(failure.message, request);
  return failure;
}

/**
 * Removes header values from a text: servers and runtimes quote what was sent, such as a wrong key.
 */
function withoutSecrets(text: string, { headers }: HttpRequest): string {
  const secrets = Object.values(headers).map((value) => value.replace(/^Bearer /, ''));
  return secrets.reduce(
    (clean, secret) => (secret.length < 8 ? clean : clean.replaceAll(secret, '***')),
    text,
  );
}
