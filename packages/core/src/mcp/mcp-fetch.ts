import { AgentError, messageOf } from '../error/agent-error.ts';
import { isRecord } from '../message/json/is-record.ts';
import { lostAnswer } from './mcp-error.ts';
import { toHeaders, type McpHeaders, type McpToolsOptions } from './mcp-options.ts';

export type RequestId = string | number;

interface JsonRpcMessage {
  readonly id?: RequestId;
  readonly method?: string;
  readonly params?: { readonly requestId?: RequestId };
}

/**
 * The `fetch` function of the SDK's transport, for one session. It makes sure that no request waits
 * forever and no connection stays open without a need:
 *
 * - If the stream of an answer ends before the answer, the request fails.
 * - The stream of a canceled request is closed.
 * - The requests of the SDK's authorization flow do not get the headers for the MCP server.
 * - A server without a notification stream is not asked for it again, whatever status it returned.
 */
export class McpFetch {
  /**
   * Ids of requests whose stream ended but can be resumed. Such a request still waits, unless its
   * answer has arrived already.
   */
  readonly ended: Set<RequestId> = new Set();
  readonly #options: McpToolsOptions;
  readonly #onGone: () => void;
  /** Functions that end a request before its answer arrives, by the id of the request. */
  readonly #open: Map<RequestId, () => void> = new Map();
  readonly #askers: Map<RequestId, RequestId> = new Map();
  /** Ids of requests by the last event of their stream, which names the stream when it resumes. */
  readonly #lastEvents: Map<string, RequestId> = new Map();
  #hadStream = false;
  #hasGivenUp = false;

  /** `onGone` is called when the server no longer knows the session. */
  constructor(options: McpToolsOptions, onGone: () => void) {
    this.#options = options;
    this.#onGone = onGone;
  }

  /**
   * Returns the id of the client's request on whose stream the server's request arrived. Returns
   * `undefined` if the server's request arrived elsewhere.
   */
  askedBy(requestOfServer: RequestId): RequestId | undefined {
    return this.#askers.get(requestOfServer);
  }

  /** Turns off resuming: a stream that ends later is not resumed. */
  giveUp(): void {
    this.#hasGivenUp = true;
  }

  fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    if (init.method === 'DELETE') return this.#send(url, init);
    // Only requests to the MCP server accept a stream of events. Others are for authorization.
    if (!/event-stream/.test(new Headers(init.headers).get('accept') ?? ''))
      return this.#plain(url, init);
    return init.method === 'POST' ? this.#post(url, init) : this.#listen(url, init);
  }

  #plain(url: string | URL, init: RequestInit): Promise<Response> {
    // `fetch` must not be called as a method: browsers and workerd reject such a call.
    const { fetch: send = fetch } = this.#options;
    return send(url, init);
  }

  async #send(url: string | URL, init: RequestInit): Promise<Response> {
    const { headers: given = {} } = this.#options;
    const headers = new Headers(init.headers);
    const own = typeof given === 'function' ? ask(given) : given;
    toHeaders(await own).forEach((value, name) => headers.set(name, value));
    return this.#plain(url, { ...init, headers });
  }

  async #listen(url: string | URL, init: RequestInit): Promise<Response> {
    const response = await this.#send(url, init);
    const lastEvent = new Headers(init.headers).get('last-event-id');
    if (response.ok) {
      this.#hadStream = true;
      const id = lastEvent === null ? undefined : this.#lastEvents.get(lastEvent);
      return id === undefined ? response : this.#watched(response, id);
    }
    if (this.#hadStream || lastEvent !== null) {
      if (response.status === 404 || response.status === 400) this.#onGone();
      return response;
    }
    await response.body?.cancel();
    // In MCP, status 405 means that the server has no notification stream.
    return new Response(null, { status: 405 });
  }

  #watched(response: Response, id: RequestId): Response {
    const seen = this.#observer(id);
    const watch = new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) => {
        seen.push(bytes);
        this.#note(seen, id);
        controller.enqueue(bytes);
      },
    });
    return new Response(response.body?.pipeThrough(watch) ?? null, response);
  }

  async #post(url: string | URL, init: RequestInit): Promise<Response> {
    const { id, method, params } = JSON.parse(String(init.body)) as JsonRpcMessage;
    if (method === 'notifications/cancelled' && params?.requestId !== undefined)
      this.#open.get(params.requestId)?.();
    // The stream of a subscription has no answer, so it may end at any time.
    const isPlain = id === undefined || method === undefined;
    if (isPlain || method === 'subscriptions/listen') return this.#send(url, init);
    const over = new AbortController();
    const onAbort = (): void => over.abort(init.signal?.reason);
    if (init.signal?.aborted) onAbort();
    init.signal?.addEventListener('abort', onAbort);
    const forget = (): void => {
      this.#open.delete(id);
      init.signal?.removeEventListener('abort', onAbort);
    };
    this.#open.set(id, () => over.abort());
    try {
      const response = await this.#send(url, { ...init, signal: over.signal });
      return await this.#answer(response, id, forget);
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** Returns the answer to a request. `forget`: called when the answer is over. */
  async #answer(response: Response, id: RequestId, forget: () => void): Promise<Response> {
    const type = response.headers.get('content-type') ?? '';
    if (!response.body || !/^text\/event-stream\b/i.test(type)) {
      // Reads the whole body here, so that a cancellation can still stop the download.
      const whole =
        response.body && response.status === 200
          ? new Response(await response.arrayBuffer(), response)
          : response;
      forget();
      return whole;
    }
    const seen = this.#observer(id);
    const { body, end } = answerStream(response.body, id, {
      seen,
      forget,
      isKept: () => !this.#hasGivenUp,
      onEnd: () => {
        this.ended.add(id);
        this.#note(seen, id);
      },
    });
    this.#open.set(id, end);
    return new Response(body, response);
  }

  /** Notes which questions of the server arrive on the stream of a request. */
  #observer(id: RequestId): StreamObserver {
    return new StreamObserver((question) => void this.#askers.set(question, id));
  }

  #note({ lastEvent }: StreamObserver, id: RequestId): void {
    if (lastEvent !== undefined) this.#lastEvents.set(lastEvent, id);
  }
}

async function ask(headers: () => McpHeaders | Promise<McpHeaders>): Promise<McpHeaders> {
  try {
    return await headers();
  } catch (cause) {
    const message = `The headers for the MCP server could not be computed: ${messageOf(cause)}`;
    throw new AgentError('MCP_AUTH', message, { cause });
  }
}

interface AnswerStreamOptions {
  readonly seen: StreamObserver;
  readonly forget: () => void;
  readonly isKept: () => boolean;
  readonly onEnd: () => void;
}

/**
 * Wraps the stream of one answer. A stream can be resumed if its events have ids. If another stream
 * ends or breaks, an error answer is added at its end; otherwise the SDK would wait forever. `end`
 * closes the stream of a canceled request. It adds an empty answer, so that the SDK does not resume
 * the stream.
 */
function answerStream(
  source: ReadableStream<Uint8Array>,
  id: RequestId,
  { seen, forget, isKept, onEnd }: AnswerStreamOptions,
): { body: ReadableStream; end: () => void } {
  const reader = source.getReader();
  let isOver = false;
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const close = (last: object | undefined): void => {
    if (isOver) return;
    isOver = true;
    forget();
    if (last) {
      const message = JSON.stringify({ jsonrpc: '2.0', id, ...last });
      const text = `\n\nevent: message\ndata: ${message}\n\n`;
      controller.enqueue(new TextEncoder().encode(text));
    }
    controller.close();
  };
  const isResumable = (): boolean => seen.lastEvent !== undefined && isKept();
  const lost = (): object | undefined => {
    if (!isResumable()) return { error: lostAnswer };
    onEnd();
    return undefined;
  };
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
    async pull() {
      try {
        const { done, value } = await reader.read();
        if (isOver) return;
        if (done) return close(lost());
        seen.push(value);
        controller.enqueue(value);
      } catch (error) {
        if (isOver) return;
        if (!isResumable()) return close(lost());
        isOver = true;
        forget();
        onEnd();
        controller.error(error);
      }
    },
    cancel(reason) {
      isOver = true;
      forget();
      return reader.cancel(reason);
    },
  });
  const end = (): void => {
    close({ result: {} });
    reader.cancel().catch(() => {});
  };
  return { body, end };
}

/**
 * Reads the event ids of a stream that another reader reads, and the ids of the server's questions
 * in it. Takes time linear in the length of the stream.
 */
class StreamObserver {
  /** Id of the last event with an id. */
  lastEvent: string | undefined;
  readonly #decoder = new TextDecoder();
  readonly #onQuestion: (id: RequestId) => void;
  /** Start of a line whose end has not arrived. */
  #partial = '';

  constructor(onQuestion: (id: RequestId) => void) {
    this.#onQuestion = onQuestion;
  }

  push(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#partial += text;
    if (!/[\r\n]/.test(text)) return;
    const lines = this.#partial.split(/[\r\n]+/);
    this.#partial = lines.pop()!;
    for (const line of lines) {
      const event = /^id: ?(.+)/.exec(line)?.[1];
      if (event !== undefined) this.lastEvent = event;
      const question = questionIn(line);
      if (question !== undefined) this.#onQuestion(question);
    }
  }
}

function questionIn(line: string): RequestId | undefined {
  if (!/^data:.*"elicitation\/create"/.test(line)) return undefined;
  try {
    const message: unknown = JSON.parse(line.slice('data:'.length));
    const { id, method } = isRecord(message) ? message : {};
    const isId = typeof id === 'string' || typeof id === 'number';
    return isId && method === 'elicitation/create' ? id : undefined;
  } catch {
    // The SDK reports messages that are not valid.
    return undefined;
  }
}
