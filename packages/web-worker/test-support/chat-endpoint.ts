import { ReActAgent, tool, type AgentOptions } from '@isoloop/core';
import { objectMediaType, objectWriterOf } from '@isoloop/core/output';
import {
  createUiMessageEncoder,
  fromUiDecisions,
  fromUiMessage,
  toUiMessages,
  type UiChunk,
} from '@isoloop/core/stream';
import { operatorMessage } from '@isoloop/core/several';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { onTestFinished } from 'vitest';

interface PostedTurn {
  readonly messages: readonly object[];
  readonly typed?: boolean;
}

interface Turn {
  /** Settles when the turn has ended. */
  ended: Promise<void>;
  readonly chunks: UiChunk[];
  /** History before the turn. */
  earlierMessages: readonly object[];
  /** The object so far, for clients that accept only that. */
  readonly object: string[];
  readonly aborting: AbortController;
  readonly readers: Set<Reader>;
}

/** A client that reads a turn. */
interface Reader {
  readonly isObject: boolean;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
}

const send = tool({
  name: 'send',
  description: 'Sends a mail',
  input: { type: 'object' },
  needsApproval: true,
  execute: () => 'sent',
});

/**
 * Endpoint in the page with the routes of a chat in a Durable Object. A turn continues without its
 * clients, and the next one waits for its end. Each client reads the turn from its start.
 */
export class ChatEndpoint {
  readonly agent: ReActAgent;
  /** Requests in their order, as `GET /api/chat/ID/messages` with the id removed. */
  readonly requests: string[] = [];
  /** Awaited before the history is read. */
  beforeHistory: () => Promise<unknown> = async () => {};
  /** As in KV, nobody can rejoin a turn, and its messages are stored at its end. */
  isKv = false;
  /** Largest size of a posted body, in characters. */
  bodyLimit = Infinity;
  /** Digest of the user's id, from which tabs know whether they may share. Default: none. */
  user: string | undefined;
  /** Whether a page can wait for messages of operators. */
  canWait = true;
  /** Number of messages of operators, and what waits for the next one. */
  #told = 0;
  #waiting: (() => void)[] = [];
  #turn: Turn | undefined;

  constructor(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
    const model = new ScriptedModel(replies);
    this.agent = new ReActAgent({ name: 'edge', model, tools: [send], ...options });
    // A turn continues without its clients.
    onTestFinished(() => this.#turn?.aborting.abort());
  }

  get isRunning(): boolean {
    return this.#turn !== undefined;
  }

  /** Number of clients that read the running turn. */
  get readers(): number {
    return this.#turn?.readers.size ?? 0;
  }

  /** Number of clients that wait for a message of an operator. */
  get waiting(): number {
    return this.#waiting.length;
  }

  readonly fetch = async (
    url: string | URL | Request,
    init: RequestInit = {},
  ): Promise<Response> => {
    const { user } = this;
    const response = await this.#answer(url, init);
    if (user === undefined) return response;
    response.headers.set('x-isoloop-user', user);
    if (!this.isKv) response.headers.set('x-isoloop-rejoin', 'true');
    return response;
  };

  async #answer(url: string | URL | Request, init: RequestInit): Promise<Response> {
    const { pathname } = new URL(String(url), 'http://endpoint');
    const { method = 'GET' } = init;
    const route = `${method} ${pathname.replace(/^\/api\/chat\/[^/]+/, '/api/chat/ID')}`;
    this.requests.push(route);
    switch (route) {
      case 'POST /api/chat':
        if (String(init.body).length > this.bodyLimit)
          return Response.json(
            { error: { code: 'PAYLOAD_TOO_LARGE', message: 'Too large.' } },
            { status: 413 },
          );
        if (!this.#isFor(String(init.body)))
          return Response.json(
            { error: { code: 'UNAUTHORIZED', message: 'Another person is logged in.' } },
            { status: 401 },
          );
        while (this.#turn) await this.#turn.ended;
        this.#begin(JSON.parse(String(init.body)) as PostedTurn);
        return this.#read(init);
      case 'GET /api/chat/ID/stream':
        return this.#turn && !this.isKv ? this.#read(init) : new Response(null, { status: 204 });
      case 'GET /api/chat/ID/messages': {
        await this.beforeHistory();
        const earlierMessages = this.isKv && this.#turn?.earlierMessages;
        return Response.json({ messages: earlierMessages || (await this.#uiMessages()) });
      }
      case 'GET /api/chat/ID/changes':
        return this.canWait
          ? this.#changes(String(url), init.signal)
          : Response.json(
              { error: { code: 'NEEDS_DURABLE_OBJECT', message: '' } },
              { status: 501 },
            );
      case 'POST /api/chat/ID/interrupt':
        this.#turn?.aborting.abort();
        return Response.json({ interrupted: true });
      case 'GET /api/chats':
        return Response.json({
          chats: [{ sessionId: 'c', title: 'One', createdAt: 1, updatedAt: 2 }],
        });
      default:
        return Response.json(
          { error: { code: 'NOT_FOUND', message: 'No such route.' } },
          { status: 404 },
        );
    }
  }

  /** Stores a message of an operator, and tells the pages that wait. */
  async operatorSays(text: string): Promise<void> {
    await this.agent.observe(operatorMessage(text, { name: 'Ann' }));
    this.#told += 1;
    for (const tell of this.#waiting.splice(0)) tell();
  }

  /** Returns whether a message is not of another user. */
  #isFor(body: string): boolean {
    const { userDigest = this.user } = JSON.parse(body) as { readonly userDigest?: string };
    return this.user === undefined || userDigest === this.user;
  }

  async #uiMessages(): Promise<readonly object[]> {
    const pending = [...this.agent.status.calls.values()].flatMap((call) => call.pending ?? []);
    return toUiMessages(await this.agent.messages(), { pending });
  }

  async #changes(url: string, signal: AbortSignal | null | undefined): Promise<Response> {
    const after = new URL(url, 'http://endpoint').searchParams.get('after');
    if (after === String(this.#told))
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push(resolve);
        signal?.addEventListener('abort', () => {
          this.#waiting = this.#waiting.filter((each) => each !== resolve);
          reject(signal.reason as Error);
        });
      });
    return Response.json({ position: String(this.#told) });
  }

  /**
   * Ends all connections as a network does, while the turn continues. `text`: the browser's error.
   * Without one, the browser ends the stream.
   */
  dropClients(text?: string): void {
    for (const { controller } of this.#turn?.readers ?? []) {
      if (text === undefined) controller.close();
      else controller.error(new TypeError(text));
    }
    this.#turn?.readers.clear();
  }

  /** Lets the clients wait for ever, as a proxy that swallows the packets. The turn continues. */
  forgetClients(): void {
    this.#turn?.readers.clear();
  }

  #begin({ messages, typed }: PostedTurn): void {
    const last = messages.at(-1);
    const decisions = fromUiDecisions(last);
    const input = decisions.length ? decisions : fromUiMessage(last);
    const messageId = decisions.length ? (last as { readonly id: string }).id : crypto.randomUUID();
    const turn: Turn = {
      ended: Promise.resolve(),
      chunks: [],
      earlierMessages: [],
      object: [],
      aborting: new AbortController(),
      readers: new Set(),
    };
    this.#turn = turn;
    const encoder = createUiMessageEncoder({ events: true, typed, messageId });
    const hasObject = this.agent.use.some((part) => 'objectWriter' in part);
    const writer = hasObject ? objectWriterOf(this.agent) : undefined;
    const { signal } = turn.aborting;
    const { memory } = this.agent;
    const run = async (): Promise<void> => {
      // A message that is sent again replaces itself and all later ones.
      turn.earlierMessages = await this.#uiMessages();
      const stored = (await memory.read()).map(({ id }) => id);
      const at = decisions.length ? -1 : stored.indexOf((last as { readonly id: string }).id);
      if (at >= 0) await memory.delete(stored.slice(at));
      const stream = this.agent.stream(input, { signal, detached: true, throwOnError: false });
      for await (const batch of stream.batches()) {
        const chunks = encoder.encode(batch);
        const piece = writer?.write(batch) ?? '';
        turn.chunks.push(...chunks);
        turn.object.push(piece);
        for (const { isObject, controller } of turn.readers)
          for (const text of isObject ? [piece] : chunks.map(toLine))
            controller.enqueue(toBytes(text));
      }
      this.#turn = undefined;
      for (const { isObject, controller } of turn.readers) {
        if (!isObject) controller.enqueue(toBytes('data: [DONE]\n\n'));
        controller.close();
      }
    };
    turn.ended = run();
  }

  #read({ signal, headers }: RequestInit): Response {
    const { chunks, object, readers } = this.#turn!;
    const isObject = new Headers(headers).get('accept') === objectMediaType;
    let left = (): void => {};
    const body = new ReadableStream<Uint8Array>({
      cancel: () => left(),
      start(controller) {
        const reader = { isObject, controller };
        left = () => void readers.delete(reader);
        for (const text of isObject ? object : chunks.map(toLine))
          controller.enqueue(toBytes(text));
        readers.add(reader);
        signal?.addEventListener('abort', () => {
          if (readers.delete(reader)) controller.error(signal.reason);
        });
      },
    });
    const type = isObject ? objectMediaType : 'text/event-stream';
    return new Response(body, { headers: { 'content-type': type } });
  }
}

function toLine(chunk: UiChunk): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
