import { jsonText } from '@isoloop/core/message';
import {
  AgentError,
  type JsonObject,
  type ToolSchema,
  type Tool,
  type ToolSet,
} from '@isoloop/core';
import { abortable, Deadline, monotonicNow, sleepFor } from '@isoloop/core/wait';
import { isSessionDoubtful, isSessionUnknown, toMcpError } from './mcp-error.ts';
import {
  checkMcpOptions,
  connectTimeoutOf,
  serverName,
  type McpToolsOptions,
} from './mcp-options.ts';
import { callServerTool, type McpServer } from './mcp-call.ts';
import { loadSdk, McpSession } from './mcp-session.ts';
import { nameTools, toTool, type McpToolList } from './mcp-tool.ts';
import { reportFailure } from '@isoloop/core/error';

/**
 * Gives an agent the tools of an MCP server.
 *
 * ```ts
 * const tools = await mcpTools({ url: 'https://tools.example.com/mcp' });
 * const agent = new ReActAgent({ name: 'assistant', model, tools });
 * ```
 *
 * Connects over Streamable HTTP and lists the tools. Needs the package
 * `@modelcontextprotocol/client`. Runs without `eval`. Uses revision 2026-07-28 of MCP, and older
 * revisions for older servers.
 *
 * A tool call that fails becomes an error result, which the model gets. If the server no longer
 * knows the session, the tool call did not run. The client then reconnects and repeats the tool
 * call. If the server cannot be reached, the client tries again in the background (see `reconnect`)
 * and at the next tool call.
 *
 * Rejects with `CONFIGURATION` for an option of the wrong kind, a server that is not allowed, or a
 * missing package. Rejects with an `MCP_…` code of `AgentErrorCode` for other failures, unless the
 * server is `optional`.
 */
export async function mcpTools(options: McpToolsOptions): Promise<McpTools> {
  checkMcpOptions(options);
  const tools = new McpTools(options);
  await tools.open();
  return tools;
}

/**
 * Time, in milliseconds, that the agent waits after a tool call for a report of changed tools.
 * Servers of the SDKs send the report on another connection, just before the answer.
 */
const maxReportMs = 10;

/**
 * Some servers report a change after each list (microsoft/aspire#14494) or three times a second
 * (browseros-ai/BrowserOS#1005). After so many lists in a row without a change, the next one waits.
 */
const maxVainLists = 3;
const vainPauseMs = 1_000;

/**
 * The tools of an MCP server. Use this object as an agent's `tools`, alone or combined with other
 * tools by `joinTools`. You can also put `list()` into a `Toolkit`. All agents with these tools
 * share one connection. Only `close()` ends the connection.
 */
export class McpTools implements ToolSet {
  /** Name of the server. */
  readonly name: string;
  readonly #options: McpToolsOptions;
  readonly #server: McpServer;
  readonly #closing: AbortController = new AbortController();
  #session: McpSession | undefined;
  #opening: Promise<McpSession> | undefined;
  /** Aborts the wait for the next attempt to reconnect. */
  #retrying: AbortController | undefined;
  /** Whether the first attempt to connect has ended. `onToolsChanged` is called only after that. */
  #isOpened = false;
  #listed = '';
  #tools: ReadonlyMap<string, Tool> = new Map();
  #schemas: readonly ToolSchema[] = [];
  /** Reads the list of tools, because the server reported a change. */
  #listing: Promise<void> | undefined;
  #mustListAgain = false;
  /** How often in a row the list was read and had not changed. */
  #vainLists = 0;
  /** Until when the list is not read again, by `monotonicNow`. */
  #pausedUntil = -Infinity;
  #isPausing = false;
  /** When the server answered the last tool call, by `monotonicNow`. */
  #answeredAt = -Infinity;
  #instructions: string | undefined;

  /** Creates the tools without a connection. Use `mcpTools()` instead. */
  constructor(options: McpToolsOptions) {
    this.name = serverName(options);
    this.#options = options;
    this.#server = {
      name: this.name,
      options,
      session: async (signal) => this.#session ?? abortable(this.#connect(), signal),
      lose: (session) => this.#lose(session),
    };
  }

  /** Connects for the first time. */
  async open(): Promise<void> {
    try {
      if (!this.#session) await this.#connect();
    } catch (error) {
      if (!this.#options.optional || (error as AgentError).code === 'CONFIGURATION') throw error;
      this.#report(error);
      if (!this.#needsPerson(error)) void this.#reconnect();
    } finally {
      this.#isOpened = true;
    }
  }

  /**
   * Whether a session with the server is open. A lost session may stay unnoticed until the next
   * request.
   */
  get connected(): boolean {
    return this.#session !== undefined;
  }

  /** Instructions of the server for the use of its tools. You can add them to the system prompt. */
  get instructions(): string | undefined {
    return this.#instructions;
  }

  find(name: string): Tool | string | undefined {
    const tool = this.#tools.get(name);
    return tool && this.#closing.signal.aborted
      ? `Tool not available: ${name}. The MCP server "${this.name}" was closed.`
      : tool;
  }

  schemas(): readonly ToolSchema[] {
    return this.#schemas;
  }

  /**
   * Waits until the tools are listed again, if the server has reported a change. Waits
   * `connectTimeoutMs` at most. If the tools cannot be listed, `onError` gets the reason, and the
   * tools stay.
   */
  whenListed(signal: AbortSignal): Promise<void> | undefined {
    const isReported = this.#session?.reportsChanges ?? false;
    const reportMs = isReported ? this.#answeredAt + maxReportMs - monotonicNow() : 0;
    return reportMs > 0 || this.#listing ? this.#waitForList(reportMs, signal) : undefined;
  }

  /** Returns this object itself, because all agents share one connection. */
  fork(): McpTools {
    return this;
  }

  /**
   * Returns the current tools, in the server's order. A `Toolkit` with these tools does not change
   * when the server's tools change.
   */
  list(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  /**
   * Lists the tools again. Connects first if there is no connection. Use `refresh` for servers that
   * do not report changes.
   */
  async refresh(): Promise<void> {
    const session = this.#session;
    if (!session) {
      await this.#connect();
      return;
    }
    try {
      this.#useTools(await session.list());
    } catch (error) {
      if (!isSessionUnknown(error) && !isSessionDoubtful(error)) throw toMcpError(error, this.name);
      this.#lose(session);
      await this.#connect();
    }
  }

  /**
   * Ends the session and closes all connections. Running tool calls fail, and the tools are no
   * longer available. Never rejects.
   */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    this.#closing.abort(
      new AgentError('MCP_UNREACHABLE', `The MCP server "${this.name}" was closed.`),
    );
    this.#retrying?.abort();
    this.#schemas = [];
    await this.#opening?.catch(() => {});
    await session?.close();
  }

  /** Connects to the server. Concurrent callers share one attempt. */
  #connect(): Promise<McpSession> {
    this.#opening ??= this.#openSession().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #openSession(): Promise<McpSession> {
    const { signal } = this.#closing;
    signal.throwIfAborted();
    let isGone = false;
    let isStale = false;
    const session = new McpSession(await loadSdk(), this.#options, signal, {
      onGone: () => {
        isGone = true;
        this.#lose(session);
      },
      onListChanged: () => {
        isStale = true;
        this.#listTools();
      },
    });
    const toolList = await session.open();
    if (signal.aborted || isGone) {
      await session.close();
      signal.throwIfAborted();
      const message = `The MCP server "${this.name}" closed the session before it was ready.`;
      throw new AgentError('MCP_UNREACHABLE', message, { retryable: true });
    }
    this.#session = session;
    this.#instructions = session.instructions;
    this.#retrying?.abort();
    this.#retrying = undefined;
    this.#useTools(toolList);
    // The server's list changed while it was read.
    if (isStale) this.#listTools();
    return session;
  }

  /** Ends the pause of lists, because a tool call may have changed the tools. */
  #noteAnswer(): void {
    this.#answeredAt = monotonicNow();
    this.#vainLists = 0;
    this.#pausedUntil = -Infinity;
    if (this.#mustListAgain) this.#listTools();
  }

  #lose(session: McpSession): void {
    // A session that was already replaced may also be lost.
    if (this.#session !== session) return;
    this.#session = undefined;
    session.drop().catch(() => {});
    void this.#reconnect();
  }

  /**
   * Tries to reconnect, as the option `reconnect` says. Default: 5 attempts; the first wait is 5 s,
   * each further wait is twice as long, and 60 s is the maximum. Source: Arc Reactor.
   */
  async #reconnect(): Promise<void> {
    const {
      attempts = 5,
      firstDelayMs = 5_000,
      maxDelayMs = 60_000,
      sleep = sleepFor,
    } = this.#options.reconnect ?? {};
    if (this.#retrying) return;
    const retrying = new AbortController();
    this.#retrying = retrying;
    const { signal } = retrying;
    try {
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        await sleep(Math.min(firstDelayMs * 2 ** attempt, maxDelayMs), signal);
        if (signal.aborted) return;
        try {
          await this.#connect();
          return;
        } catch (error) {
          this.#report(error);
          if (this.#needsPerson(error)) return;
        }
      }
    } catch (error) {
      this.#report(error);
    } finally {
      if (this.#retrying === retrying) this.#retrying = undefined;
    }
  }

  /** Returns whether a person has to allow the access. Each further attempt would ask again. */
  #needsPerson(error: unknown): boolean {
    return this.#options.auth !== undefined && (error as AgentError).code === 'MCP_AUTH';
  }

  /**
   * Lists the tools after the server reported a change. If another report arrives during the
   * request, lists them again.
   */
  #listTools(): void {
    this.#mustListAgain = true;
    this.#listing ??= this.#listUntilCurrent().finally(() => (this.#listing = undefined));
  }

  async #listUntilCurrent(): Promise<void> {
    while (this.#mustListAgain) {
      const pauseMs = this.#pausedUntil - monotonicNow();
      if (pauseMs > 0) return void this.#listAfter(pauseMs);
      this.#mustListAgain = false;
      const session = this.#session;
      const lastListed = this.#listed;
      try {
        const listed = await session?.list();
        if (listed && session === this.#session) this.#useTools(listed);
      } catch (error) {
        if (session === this.#session) this.#report(error);
      }
      this.#vainLists = this.#listed === lastListed ? this.#vainLists + 1 : 0;
      if (this.#vainLists >= maxVainLists) this.#pausedUntil = monotonicNow() + vainPauseMs;
    }
  }

  /** Lists the tools after a pause. No request of an agent waits for that. */
  async #listAfter(pauseMs: number): Promise<void> {
    if (this.#isPausing) return;
    this.#isPausing = true;
    await sleepFor(pauseMs, this.#closing.signal);
    this.#isPausing = false;
    if (!this.#closing.signal.aborted) this.#listTools();
  }

  /**
   * Waits for a report and for the list, `connectTimeoutMs` at most.
   */
  async #waitForList(reportMs: number, signal: AbortSignal): Promise<void> {
    const deadline = new Deadline(signal, connectTimeoutOf(this.#options), (ms) => {
      const message = `The MCP server "${this.name}" did not list its tools within ${ms} ms`;
      return new AgentError('MCP_TIMEOUT', message, { retryable: true });
    });
    try {
      if (reportMs > 0) await sleepFor(reportMs, signal);
      await deadline.wait(async () => this.#listing);
    } catch (error) {
      if (!signal.aborted) this.#report(error);
    } finally {
      deadline.end();
    }
  }

  #useTools(toolList: McpToolList): void {
    const text = JSON.stringify(toolList);
    if (text === this.#listed || this.#closing.signal.aborted) return;
    this.#listed = text;
    const { tools: serverTools, refused } = toolList;
    if (refused.length) {
      const what = `lists ${refused.length} invalid tools: ${refused.slice(0, 3).join(', ')}`;
      this.#report(new AgentError('MCP_BAD_RESPONSE', `The MCP server "${this.name}" ${what}.`));
    }
    const tools = nameTools(serverTools, this.#options).map(([name, tool]) =>
      toTool(name, tool, {
        ...this.#options,
        server: this.name,
        execute: (input, context) =>
          callServerTool(
            this.#server,
            { name: tool.name, arguments: JSON.parse(jsonText(input)) as JsonObject },
            context,
          ).finally(() => this.#noteAnswer()),
        report: (error) => this.#report(error),
      }),
    );
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#schemas = tools.map(({ schema }) => schema);
    if (!this.#isOpened) return;
    try {
      const work: unknown = this.#options.onToolsChanged?.(tools);
      if (work instanceof Promise) work.catch((error: unknown) => this.#report(error));
    } catch (error) {
      this.#report(AgentError.from(error));
    }
  }

  #report(error: unknown): void {
    const what = `The MCP server "${this.name}" failed in the background.`;
    reportFailure(what, this.#options.onError, toMcpError(error, this.name));
  }
}
