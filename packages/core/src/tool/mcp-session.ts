import type { Client, ClientOptions } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult, Progress, Tool as ServerTool } from '@modelcontextprotocol/sdk/types.js';
import { AgentError } from '../error/agent-error.ts';
import type { JsonObject } from '../message/json.ts';
import { Deadline, longestTimeout } from '../model/deadline.ts';
import { toMcpError } from './mcp-error.ts';
import { mcpFetch } from './mcp-fetch.ts';
import { serverName, type McpToolsOptions } from './mcp-options.ts';
import { loadMcpSdk, type McpSdk } from './mcp-sdk.ts';

/** One connection: from the handshake to its end. */
export interface McpSession {
  /** As the server listed them at the handshake. */
  readonly tools: readonly ServerTool[];
  readonly instructions: string | undefined;
  list(): Promise<readonly ServerTool[]>;
  /** Rejects with what the SDK rejects with. */
  call(name: string, input: JsonObject, options: McpCallOptions): Promise<CallToolResult>;
  /** Ends what is open, without telling the server. */
  drop(): Promise<void>;
  /** Tells the server that the session is over, where that takes no longer than `connectTimeoutMs`, and ends what is open. */
  close(): Promise<void>;
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
  const transport = new sdk.StreamableHTTPClientTransport(new URL(options.url), {
    fetch: mcpFetch(options, () => listener.onGone()).fetch,
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
  const list = (): Promise<readonly ServerTool[]> => listTools(sdk, client, connectTimeoutMs);
  try {
    const tools = await deadline.wait(async () => {
      // The SDK's own types do not hold under exactOptionalPropertyTypes.
      await client.connect(transport as Parameters<Client['connect']>[0], { timeout: longestTimeout });
      return list();
    });
    return {
      tools,
      instructions: client.getInstructions(),
      list,
      call: (tool, input, { signal: cancelled, onProgress }) =>
        client.request({ method: 'tools/call', params: { name: tool, arguments: input } }, sdk.CallToolResultSchema, {
          signal: cancelled,
          timeout: longestTimeout,
          onprogress: onProgress,
        }),
      drop: () => client.close(),
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
async function listTools(sdk: McpSdk, client: Client, timeout: number): Promise<readonly ServerTool[]> {
  const tools: ServerTool[] = [];
  if (!client.getServerCapabilities()?.tools) return tools;
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: 'tools/list', params }, sdk.ListToolsResultSchema, { timeout });
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (tools.length > mostTools || (cursor !== undefined && !page.tools.length)) {
      throw new AgentError('MCP_BAD_RESPONSE', 'The MCP server lists its tools without end.');
    }
  } while (cursor !== undefined);
  return tools;
}

/** The SDK's default compiles schemas with `eval`. What a tool gives is for the model to judge. */
const unchecked: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};
