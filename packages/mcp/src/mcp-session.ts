import { isRecord } from '@isoloop/core/message';
import type * as sdk from '@modelcontextprotocol/client';
import { AgentError, errorText, type JsonObject } from '@isoloop/core';
import { fieldsOf } from '@isoloop/core/error';
import { abortable, sleepFor, Deadline, timerMs } from '@isoloop/core/wait';
import { toQuestions, type McpAnswers, type McpReply } from './mcp-question.ts';
import { McpConnection } from './mcp-connection.ts';
import { toMcpError } from './mcp-error.ts';
import { connectTimeoutOf, serverName, type McpToolsOptions } from './mcp-options.ts';
import { ToolLister, type McpToolList } from './mcp-tool.ts';

type Sdk = Pick<typeof sdk, 'Client' | 'StreamableHTTPClientTransport' | 'specTypeSchemas'>;

export interface McpCall {
  readonly name: string;
  readonly arguments: JsonObject;
  /** Answers to the questions of an earlier reply to the same tool call. */
  readonly inputResponses?: McpAnswers;
  /** The server's state from that reply. */
  readonly requestState?: string;
}

/** Gets the progress of a tool call. */
type OnProgress = (progress: sdk.Progress) => void;

interface SessionListener {
  /** Called when the server no longer knows the session or cannot be reached. */
  onGone(): void;
  onListChanged(): void;
}

/** One session with an MCP server, from the handshake to its end. */
export class McpSession {
  readonly #sdk: Sdk;
  readonly #options: McpToolsOptions;
  readonly #timeout: number;
  readonly #signal: AbortSignal;
  readonly #listener: SessionListener;
  readonly #lister: ToolLister;
  readonly #client: sdk.Client;
  /** Connection of the last attempt. */
  #connection: McpConnection;
  /** Requests that have no answer yet. */
  readonly #running = new Set<Promise<unknown>>();

  constructor(sdk: Sdk, options: McpToolsOptions, signal: AbortSignal, listener: SessionListener) {
    this.#sdk = sdk;
    this.#options = options;
    this.#timeout = connectTimeoutOf(options);
    this.#signal = signal;
    this.#listener = listener;
    this.#lister = new ToolLister(sdk.specTypeSchemas);
    this.#connection = this.#newConnection();
    this.#client = this.#newClient();
  }

  get instructions(): string | undefined {
    return this.#client.getInstructions();
  }

  /** Whether the server reports changes of its tools. */
  get reportsChanges(): boolean {
    return this.#client.getServerCapabilities()?.tools?.listChanged === true;
  }

  /**
   * Connects and lists the tools. On a failure, closes all connections and rejects with an
   * `AgentError`.
   */
  async open(): Promise<McpToolList> {
    const deadline = new Deadline(this.#signal, this.#timeout, this.#timeoutError);
    try {
      return await deadline.wait(async () => {
        await this.#connect();
        await this.#subscribe();
        return this.#lister.list(this.#client, this.#timeout);
      });
    } catch (error) {
      await this.#connection.transport.close();
      await this.#client.close();
      throw toMcpError(error, serverName(this.#options));
    } finally {
      deadline.end();
    }
  }

  list(): Promise<McpToolList> {
    return this.#track(this.#lister.list(this.#client, this.#timeout));
  }

  /** Calls a tool of the server. Rejects with the SDK's own errors. */
  call(call: McpCall, signal: AbortSignal, onprogress: OnProgress): Promise<McpReply> {
    return this.#track(callTool(this.#client, call, signal, onprogress));
  }

  /**
   * Closes the session on the client's side only, after all running requests have their answers.
   * The answer of a request shows whether the server still knew the session. If it did not, the
   * request may be repeated in a new session.
   */
  async drop(): Promise<void> {
    await abortable(Promise.allSettled(this.#running), this.#signal).catch(() => {});
    await this.#client.close();
  }

  /**
   * Asks the server to end the session, and waits `connectTimeoutMs` at most. Then closes all
   * connections.
   */
  async close(): Promise<void> {
    const deadline = new Deadline(new AbortController().signal, this.#timeout, this.#timeoutError);
    const { transport } = this.#connection;
    await deadline.wait(() => transport.terminateSession()).catch(() => {});
    deadline.end();
    await this.#client.close();
  }

  readonly #timeoutError = (ms: number): AgentError => {
    const message = `The MCP server "${serverName(this.#options)}" did not connect within ${ms} ms`;
    return new AgentError('MCP_TIMEOUT', message, { retryable: true });
  };

  #newConnection(): McpConnection {
    return new McpConnection(this.#sdk.StreamableHTTPClientTransport, this.#options);
  }

  #newClient(): sdk.Client {
    const { elicitation = true } = this.#options;
    const client = new this.#sdk.Client(clientInfo, {
      jsonSchemaValidator: unchecked,
      listMaxPages: maxPages,
      versionNegotiation: { mode: 'auto' },
      ...(elicitation && { capabilities: { elicitation: { form: {}, url: {} } } }),
    });
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- no event target
    client.onerror = ({ message }) => {
      if (message.startsWith('Maximum reconnection attempts')) this.#listener.onGone();
    };
    const onListChanged = (): void => this.#listener.onListChanged();
    client.setNotificationHandler('notifications/tools/list_changed', onListChanged);
    if (elicitation)
      client.setRequestHandler('elicitation/create', async () => ({ action: 'cancel' }));
    return client;
  }

  /** Connects with revision 2026-07-28, or with an older one if the server does not know it. */
  async #connect(): Promise<void> {
    try {
      await this.#connectOnce();
    } catch (error) {
      if (!isRefusedByBrowser(error)) throw error;
      this.#connection = this.#newConnection();
      await this.#connectOnce({ prior: { kind: 'legacy' } });
    }
  }

  async #connectOnce(options: Parameters<sdk.Client['connect']>[1] = {}): Promise<void> {
    const { transport } = this.#connection;
    // The SDK's types do not compile under `exactOptionalPropertyTypes`.
    await this.#client.connect(transport as sdk.Transport, {
      timeout: timerMs(Infinity),
      ...options,
    });
    this.#connection.readWith((message) => this.#lister.withoutInvalidTools(message));
  }

  /**
   * Asks a server of revision 2026-07-28 to report changes of its tools. Older servers do so
   * without being asked. A server that does not answer in time reports no changes.
   */
  async #subscribe(): Promise<void> {
    const client = this.#client;
    if (client.getProtocolEra() !== 'modern' || !this.reportsChanges) return;
    try {
      const timeout = this.#timeout / 2;
      const { closed } = await client.listen({ toolsListChanged: true }, { timeout });
      const end = (cause?: unknown): void => {
        if (cause !== 'local') this.#listener.onGone();
      };
      closed.then(end, () => end());
    } catch {
      // The tools work without reports. `refresh()` lists them again.
    }
  }

  #track<T>(request: Promise<T>): Promise<T> {
    const end = (): void => void this.#running.delete(request);
    this.#running.add(request);
    request.then(end, end);
    return request;
  }
}

/** Milliseconds before a tool call is sent again to a server that only asks to come back later. */
const laterMs = 250;
const maxAttempts = 10;

/**
 * Calls a tool. A server of revision 2026-07-28 may end the tool call with questions. The client
 * then sends it again with the answers.
 */
async function callTool(
  client: sdk.Client,
  call: McpCall,
  signal: AbortSignal,
  onprogress: OnProgress,
): Promise<McpReply> {
  const options = {
    signal,
    onprogress,
    timeout: timerMs(Infinity),
    allowInputRequired: true,
  } as const;
  let params = call;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    // The SDK's type does not have the answers and the state.
    const sent = params as unknown as Parameters<sdk.Client['callTool']>[0];
    const result: unknown = await client.callTool(sent, options);
    const { resultType, inputRequests, requestState } = fieldsOf(result);
    if (resultType !== 'input_required') return { result: result as sdk.CallToolResult };
    const state = typeof requestState === 'string' && { requestState };
    if (isRecord(inputRequests) && Object.keys(inputRequests).length > 0)
      return { questions: toQuestions(inputRequests), next: 'retry', ...state };
    await sleepFor(laterMs, signal);
    params = { name: call.name, arguments: call.arguments, ...state };
  }
  throw new AgentError('MCP_BAD_RESPONSE', `"${call.name}" always asks to be called again.`);
}

/**
 * Loads the parts of the MCP SDK that a client needs. Throws `CONFIGURATION` without the SDK, and
 * `MCP_UNREACHABLE` if a page cannot fetch it, for example because a deployment replaced the file.
 */
export async function loadSdk(): Promise<Sdk> {
  try {
    const { Client, StreamableHTTPClientTransport, specTypeSchemas } =
      await import('@modelcontextprotocol/client');
    return { Client, StreamableHTTPClientTransport, specTypeSchemas };
  } catch (cause) {
    // The words of Chromium, Firefox and WebKit.
    if (/dynamically imported|module script failed/i.test(errorText(cause))) {
      const message = `The page could not load the MCP client: ${errorText(cause)}. Reload the page.`;
      throw new AgentError('MCP_UNREACHABLE', message, { cause, retryable: true });
    }
    const name = '@modelcontextprotocol/client';
    throw new AgentError('CONFIGURATION', `mcpTools() needs a package: npm install ${name}.`, {
      cause,
    });
  }
}

/** Name and version that the server gets. */
const clientInfo = { name: 'isoloop', version: '0' };

/** Maximum number of pages of a tool list. */
const maxPages = 1_000;

/**
 * Accepts any result of a tool. The SDK's default validator compiles schemas with `eval`, which
 * some platforms forbid.
 */
const unchecked: NonNullable<sdk.ClientOptions['jsonSchemaValidator']> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

/**
 * Returns whether a browser may have refused the first request because an older server does not
 * allow its new headers (CORS). The SDK knows pages, but not workers.
 */
function isRefusedByBrowser(error: unknown): boolean {
  const { code, cause } = fieldsOf(error);
  const isRefused = code === 'ERA_NEGOTIATION_FAILED' && fieldsOf(cause)['name'] === 'TypeError';
  return isRefused && 'location' in globalThis;
}
