import type { Client, ClientOptions } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult, Progress, Tool as ServerTool } from '@modelcontextprotocol/sdk/types.js';
import { AgentError } from '../error/agent-error.ts';
import { isRecord } from '../message/is-record.ts';
import type { JsonObject } from '../message/json.ts';
import { abortable } from '../model/abortable.ts';
import { Deadline, longestTimeout } from '../model/deadline.ts';
import { toMcpError } from './mcp-error.ts';
import { lostAnswer, mcpFetch } from './mcp-fetch.ts';
import { serverName, type McpToolsOptions } from './mcp-options.ts';
import { loadMcpSdk, type McpSdk } from './mcp-sdk.ts';

/** One connection: from the handshake to its end. */
export interface McpSession {
  /** As the server listed them at the handshake. */
  readonly listed: McpToolList;
  readonly instructions: string | undefined;
  list(): Promise<McpToolList>;
  /** Rejects with what the SDK rejects with. */
  call(name: string, input: JsonObject, options: McpCallOptions): Promise<CallToolResult>;
  /**
   * Ends the session, without telling the server, once what runs has its answer: whether a call came too late for the session, and may
   * be made again in another, only its own answer says.
   */
  drop(): Promise<void>;
  /** Tells the server that the session is over, where that takes no longer than `connectTimeoutMs`, and ends what is open. */
  close(): Promise<void>;
}

export interface McpToolList {
  readonly tools: readonly ServerTool[];
  /** What was listed and is no tool. */
  readonly refused: readonly AgentError[];
}

export interface McpCallOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

export interface McpSessionListener {
  /** The server has forgotten the session, or cannot be reached any more. */
  onGone(): void;
  onListChanged(): void;
}

const mostTools = 10_000;

/** Connects and lists the tools. Rejects with an `AgentError`, with nothing left open. */
export async function openMcpSession(options: McpToolsOptions, signal: AbortSignal, listener: McpSessionListener): Promise<McpSession> {
  const { connectTimeoutMs = 30_000, clientInfo = { name: 'isoloop', version: '0' }, reconnect = {} } = options;
  const name = serverName(options);
  const sdk = await loadMcpSdk();
  const client = new sdk.Client(clientInfo, { jsonSchemaValidator: unchecked });
  const http = mcpFetch(options, () => listener.onGone());
  const transport = new sdk.StreamableHTTPClientTransport(new URL(options.url), {
    fetch: http.fetch,
    // For a stream that broke; whoever cannot be reached by then is gone.
    reconnectionOptions: {
      initialReconnectionDelay: Math.min(1_000, reconnect.firstDelayMs ?? 1_000),
      reconnectionDelayGrowFactor: 2,
      maxReconnectionDelay: 60_000,
      maxRetries: 2,
    },
  });
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- no event target
  client.onerror = ({ message }) => {
    if (message.startsWith('Maximum reconnection attempts')) listener.onGone();
  };
  client.setNotificationHandler(sdk.ToolListChangedNotificationSchema, () => listener.onListChanged());
  const timedOut = (ms: number): AgentError =>
    new AgentError('MCP_TIMEOUT', `The MCP server "${name}" was not connected within ${ms} ms`, { retryable: true });
  const deadline = new Deadline(signal, connectTimeoutMs, timedOut);
  const running = new Set<Promise<unknown>>();
  const noted = <T>(request: Promise<T>): Promise<T> => {
    const end = (): void => void running.delete(request);
    running.add(request);
    request.then(end, end);
    return request;
  };
  const list = (): Promise<McpToolList> => listTools(sdk, client, { timeout: connectTimeoutMs, server: name });
  try {
    const listed = await deadline.wait(async () => {
      // The SDK's own types do not hold under exactOptionalPropertyTypes.
      await client.connect(transport as Parameters<Client['connect']>[0], { timeout: longestTimeout });
      return list();
    });
    return {
      listed,
      instructions: client.getInstructions(),
      list: () => noted(list()),
      call: (tool, input, { signal: cancelled, onProgress }) =>
        noted(
          client.request({ method: 'tools/call', params: { name: tool, arguments: input } }, sdk.CallToolResultSchema, {
            signal: cancelled,
            timeout: longestTimeout,
            onprogress: onProgress,
          }),
        ),
      async drop() {
        for (const id of http.giveUp()) transport.onmessage?.({ jsonrpc: '2.0', id, error: lostAnswer });
        await abortable(Promise.allSettled(running), signal).catch(() => {});
        await client.close();
      },
      async close() {
        const leaving = new Deadline(new AbortController().signal, connectTimeoutMs, timedOut);
        await leaving.wait(() => transport.terminateSession()).catch(() => {});
        await client.close();
      },
    };
  } catch (error) {
    await client.close();
    throw toMcpError(error, name);
  } finally {
    deadline.end();
  }
}

/** All pages of the list; none where the server has no tools at all. */
async function listTools(
  sdk: McpSdk,
  client: Client,
  { timeout, server }: { readonly timeout: number; readonly server: string },
): Promise<McpToolList> {
  const wrong = (what: string): AgentError => new AgentError('MCP_BAD_RESPONSE', `The MCP server "${server}" ${what}.`);
  const tools: ServerTool[] = [];
  const refused: AgentError[] = [];
  let cursor: string | undefined;
  if (client.getServerCapabilities()?.tools) {
    do {
      const params = cursor === undefined ? {} : { cursor };
      // Not by the schema of the list: one tool that is none must not cost the others.
      const page = await client.request({ method: 'tools/list', params }, sdk.ResultSchema, { timeout });
      const { tools: given, nextCursor } = page;
      if (!Array.isArray(given)) throw wrong('gives no list of tools');
      for (const item of given) {
        const read = sdk.ToolSchema.safeParse(partsOf(item));
        if (read.success && read.data.name) tools.push(read.data);
        else refused.push(wrong(`lists a tool that is none, which is left out: ${String(JSON.stringify(item)).slice(0, 200)}`));
      }
      cursor = typeof nextCursor === 'string' ? nextCursor : undefined;
      if (tools.length > mostTools || (cursor !== undefined && !given.length)) throw wrong('lists its tools without end');
    } while (cursor !== undefined);
  }
  return { tools, refused };
}

/** What is used of a tool; `null` is what some servers say for nothing. */
function partsOf(item: unknown): Readonly<Record<string, unknown>> {
  const { name, title, description, inputSchema, annotations } = Object(item) as Record<string, unknown>;
  return {
    name,
    title: title ?? Object(annotations).title ?? undefined,
    description: description ?? undefined,
    inputSchema: isRecord(inputSchema) && !Array.isArray(inputSchema) ? { type: 'object', ...inputSchema } : inputSchema,
  };
}

/** The SDK's default compiles schemas with `eval`. What a tool gives is for the model to judge. */
const unchecked: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};
