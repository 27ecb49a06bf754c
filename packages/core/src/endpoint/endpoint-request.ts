import { AgentError } from '../error/agent-error.ts';
import { onAbort } from '../wait/abort.ts';
import { Deadline } from '../wait/deadline.ts';
import { valueFor, type PerRequest, type RequestHeaders } from './per-request.ts';

/** How long a request to an endpoint may take. */
export interface EndpointLimits {
  /**
   * Longest wait for the beginning of an answer, in milliseconds. The time of asynchronous
   * `headers` counts. A request gets one millisecond more for each 50 bytes that it sends. Default:
   * 20,000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Longest silence within an answer, in milliseconds. Default: 2.5 times the interval in which
   * the endpoint keeps its streams alive, or 37,500 if the endpoint does not tell it.
   */
  readonly silenceMs?: number | undefined;
}

/** Header with the interval in which an endpoint keeps a stream alive, in milliseconds. */
export const keepAliveHeader = 'x-isoloop-keep-alive';

/**
 * Longest time for which an endpoint waits for a message of an operator before it answers, in
 * milliseconds. Bun ends a connection that is silent for 10 seconds.
 */
export const changesWaitMs = 7000;

/** Number of silent intervals after which a stream counts as lost. */
const lostIntervals = 2.5;

/**
 * Shortest silence after which a stream counts as lost, in milliseconds, unless the caller sets
 * one. On a busy machine, two pieces of a stream may come seconds apart.
 */
const leastSilenceMs = 10_000;

/** Interval of an endpoint that does not tell it, in milliseconds. */
const usualIntervalMs = 15_000;

/** Bytes that a slow connection sends per millisecond. */
const slowBytesPerMs = 50;

/** A request to an endpoint. `headers` come before those in `init`, which replace them. */
export interface EndpointRequest extends EndpointLimits {
  readonly url: string;
  readonly init: RequestInit;
  readonly headers?: PerRequest<RequestHeaders> | undefined;
  /** As `RequestCredentials` of browsers, a type that Node does not have. */
  readonly credentials?: PerRequest<'omit' | 'same-origin' | 'include'> | undefined;
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  readonly signal?: AbortSignal | null | undefined;
}

/**
 * Sends a request to an endpoint. Rejects with `ENDPOINT_TIMEOUT` if the answer does not begin in
 * time. A read of its body rejects with the same code after a long silence. Rejects with
 * `UNAUTHORIZED` if the function `headers` or `credentials` fails.
 */
export async function requestEndpoint(request: EndpointRequest): Promise<Response> {
  const { url, init, timeoutMs = 20_000, silenceMs, fetch: send = fetch } = request;
  const signal = request.signal ?? new AbortController().signal;
  const sentBytes = typeof init.body === 'string' ? init.body.length : 0;
  const limitMs = timeoutMs + sentBytes / slowBytesPerMs;
  const deadline = new Deadline(signal, limitMs, () =>
    timeoutError(`${url} did not answer within ${Math.round(limitMs)} ms.`),
  );
  try {
    const response = await deadline.wait(async () => {
      const headers = await headersFor(request.headers, init.headers);
      const credentials = await valueFor('credentials', request.credentials);
      deadline.signal.throwIfAborted();
      return send(url, {
        ...init,
        headers,
        ...(credentials && { credentials }),
        signal: deadline.signal,
      });
    });
    return withSilenceLimit(response, signal, silenceMs);
  } finally {
    deadline.end();
  }
}

async function headersFor(
  option: PerRequest<RequestHeaders> | undefined,
  others: RequestInit['headers'],
): Promise<Readonly<Record<string, string>>> {
  const common = await valueFor('headers', option);
  try {
    return Object.fromEntries([...new Headers(common), ...new Headers(others)]);
  } catch (cause) {
    // The engine's error quotes the value, which may be a key.
    const message = '`headers` must be an object with texts that HTTP can send, or `Headers`.';
    throw new AgentError('CONFIGURATION', message, { cause });
  }
}

/** A response with one of these takes no body, but Chromium reads an empty one from the network. */
const bodilessStatuses: ReadonlySet<number> = new Set([204, 205, 304]);

/** Returns a response whose body fails if it falls silent. */
function withSilenceLimit(
  response: Response,
  signal: AbortSignal,
  silenceMs: number | undefined,
): Response {
  const { body, status, statusText, headers } = response;
  if (!body || bodilessStatuses.has(status)) return response;
  const intervalMs = Number(headers.get(keepAliveHeader)) || usualIntervalMs;
  const usualSilenceMs = Math.max(intervalMs * lostIntervals, leastSilenceMs);
  const limitedBody = limitSilence(body, signal, silenceMs ?? usualSilenceMs);
  return new Response(limitedBody, { status, statusText, headers });
}

/**
 * The time limit begins with the first read, so an answer that nobody reads needs no timer. Such an
 * answer, too, ends when the caller's signal aborts.
 */
function limitSilence(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  silenceMs: number,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const deadline = new Deadline(signal, silenceMs, () =>
    timeoutError(`The endpoint has been silent for ${silenceMs} ms.`),
  );
  onAbort(deadline.signal, () => void reader.cancel(deadline.signal.reason).catch(() => {}));
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await deadline.wait(() => reader.read());
          if (!done) return controller.enqueue(value);
          deadline.end();
          controller.close();
        } catch (error) {
          deadline.end();
          throw error;
        }
      },
      cancel(reason) {
        deadline.end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

function timeoutError(message: string): AgentError {
  return new AgentError('ENDPOINT_TIMEOUT', message, { retryable: true });
}
