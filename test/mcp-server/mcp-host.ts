import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import { Authorization } from './authorization.ts';
import { makeCurrentServer } from './make-current-server.ts';
import { makeServer } from './make-server.ts';
import { Happenings } from './happenings.ts';
import { StoredEvents } from './stored-events.ts';

export type McpKind = 'mcp' | 'resumable' | 'stateless' | 'current';

interface Session {
  readonly transport: StreamableHTTPServerTransport;
  readonly changed: () => Promise<void>;
}

/** One MCP server with its sessions. Tests control the server with `control()`. */
export class McpHost {
  readonly happenings: Happenings = new Happenings();
  readonly authorization: Authorization = new Authorization();
  /** Tools that tests have added with `control()`. */
  readonly added: Tool[] = [];
  readonly #sessions = new Map<string, Session>();
  readonly #open = new Set<ServerResponse>();
  readonly #current: McpHttpHandler = createMcpHandler(() => makeCurrentServer(this), {
    legacy: 'reject',
  });
  readonly #answerCurrent = toNodeHandler(this.#current);
  #down = false;

  async answer(request: IncomingMessage, response: ServerResponse, kind: McpKind): Promise<void> {
    this.happenings.happen(request.method === 'GET' ? 'stream' : 'request');
    if (this.#down) return void request.socket.destroy();
    this.#open.add(response);
    response.once('close', () => {
      this.#open.delete(response);
      if (!response.writableFinished) this.happenings.happen('dropped');
    });
    // The cast is needed: the types of the SDK do not compile under `exactOptionalPropertyTypes`.
    if (kind === 'current') return this.#answerCurrent(request as never, response);
    if (kind === 'stateless') return this.#answerStateless(request, response);
    const id = request.headers['mcp-session-id'];
    const session = typeof id === 'string' ? this.#sessions.get(id) : undefined;
    if (id && !session) return void response.writeHead(404).end('Session not found');
    const { transport } = session ?? (await this.#begin(kind));
    await transport.handleRequest(request, response);
    if (request.method === 'DELETE') this.happenings.happen('ended');
  }

  /** Runs a command of a test. README.md lists the commands. */
  async control(what: string, detail: string): Promise<unknown> {
    if (what === 'await') return this.happenings.wait(detail);
    if (what === 'count') return { count: this.happenings.count(detail) };
    if (what === 'authorized') return { count: this.authorization.happenings.count(detail) };
    if (what === 'down') this.#stop();
    else if (what === 'up') this.#down = false;
    else if (what === 'forget') this.#forget();
    else if (what === 'revoke') this.authorization.revoke();
    else if (what === 'visited') this.happenings.happen('visited');
    else if (what === 'add' || what === 'define') {
      const plain = {
        name: detail,
        description: `Added later: ${detail}.`,
        inputSchema: { type: 'object' },
      };
      this.added.push((what === 'add' ? plain : JSON.parse(detail)) as Tool);
      this.#current.notify.toolsChanged();
      await Promise.all([...this.#sessions.values()].map((session) => session.changed()));
    } else throw new Error(`Unknown command ${what}`);
    return {};
  }

  /** Answers each request with one JSON body, without streams and sessions. */
  async #answerStateless(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST')
      return void response.writeHead(404).end('Method not supported here');
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await makeServer(this).connect(transport);
    await transport.handleRequest(request, response);
  }

  async #begin(kind: McpKind): Promise<Session> {
    const transport = new StreamableHTTPServerTransport({
      ...(kind === 'resumable' && { eventStore: new StoredEvents(), retryInterval: 1 }),
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void this.#sessions.set(id, session),
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    const server = makeServer(this);
    const session: Session = { transport, changed: () => server.sendToolListChanged() };
    await server.connect(transport);
    return session;
  }

  #forget(): void {
    for (const response of this.#open) response.destroy();
    this.#sessions.clear();
  }

  #stop(): void {
    this.#down = true;
    for (const response of this.#open) response.destroy();
  }
}
