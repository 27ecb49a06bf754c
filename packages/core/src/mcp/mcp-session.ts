import type { Client, ClientOptions } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult, Progress } from '@modelcontextprotocol/sdk/types.js';
import { AgentError } from '../error/agent-error.ts';
import type { JsonObject } from '../message/json.ts';
import { abortable } from '../model/abortable.ts';
import { Deadline, longestTimeout } from '../model/deadline.ts';
import { listTools, type McpToolList } from './mcp-list.ts';
import { toMcpError } from './mcp-error.ts';
import { lostAnswer, mcpFetch } from './mcp-fetch.ts';
import { serverName, type McpToolsOptions } from './mcp-options.ts';
import { loadMcpSdk } from './mcp-sdk.ts';

/** One connection, from the handshake to its end. */
export interface McpSession {
  /** The tools that the server listed at the handshake. */
  readonly listed: McpToolList;
  readonly instructions: string | undefined;
  list(): Promise<McpToolList>;
  /** Calls a tool. Rejects with the SDK's own errors. */
  call(name: string, input: JsonObject, options: McpCallOptions): Promise<CallToolResult>;
  /**
   * Ends the session without telling the server, after the running requests have their answers.
   * Only its own answer tells whether a call was too late for the session and may be repeated in
   * another.
   */
  drop(): Promise<void>;
  /**
   * Tells the server that the session is over, for `connectTimeoutMs` at most. Then closes
   * everything open.
   */
  close(): Promise<void>;
}

export interface McpCallOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

export interface McpSessionListener {
  /** Called when the server has forgotten the session or can't be reached anymore. */
  onGone(): void;
  onListChanged(): void;
}

/** Connects and lists the tools. Rejects with an `AgentError` and leaves nothing open then. */
export async function openMcpSession(
  options: McpToolsOptions,
  signal: AbortSignal,
  listener: McpSessionListener,
): Promise<McpSession> {
  const {
    connectTimeoutMs = 30_000,
    clientInfo = { name: 'isoloop', version: '0' },
    reconnect = {},
  } = options;
  const name = serverName(options);
  const sdk = await loadMcpSdk();
  const client = new sdk.Client(clientInfo, { jsonSchemaValidator: unchecked });
  const http = mcpFetch(options, () => listener.onGone());
  const transport = new sdk.StreamableHTTPClientTransport(new URL(options.url), {
    fetch: http.fetch,
    // For a broken stream: after these retries the server counts as gone.
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
  client.setNotificationHandler(sdk.ToolListChangedNotificationSchema, () =>
    listener.onListChanged(),
  );
  const timedOut = (ms: number): AgentError =>
    new AgentError('MCP_TIMEOUT', `The MCP server "${name}" did not connect within ${ms} ms`, {
      retryable: true,
    });
  const deadline = new Deadline(signal, connectTimeoutMs, timedOut);
  const running = new Set<Promise<unknown>>();
  const noted = <T>(request: Promise<T>): Promise<T> => {
    const end = (): void => {
      running.delete(request);
      // All requests have their answers.
      if (!running.size) http.ended.clear();
    };
    running.add(request);
    request.then(end, end);
    return request;
  };
  const list = (): Promise<McpToolList> =>
    listTools(sdk, client, { timeout: connectTimeoutMs, server: name });
  try {
    const listed = await deadline.wait(async () => {
      // The SDK's types do not compile under exactOptionalPropertyTypes.
      await client.connect(transport as Parameters<Client['connect']>[0], {
        timeout: longestTimeout,
      });
      return list();
    });
    return {
      listed,
      instructions: client.getInstructions(),
      list: () => noted(list()),
      call: (tool, input, { signal: cancelled, onProgress }) =>
        noted(
          client.request(
            { method: 'tools/call', params: { name: tool, arguments: input } },
            sdk.CallToolResultSchema,
            {
              signal: cancelled,
              timeout: longestTimeout,
              onprogress: onProgress,
            },
          ),
        ),
      async drop() {
        http.giveUp();
        for (const id of http.ended)
          transport.onmessage?.({ jsonrpc: '2.0', id, error: lostAnswer });
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

/**
 * Accepts any value. The SDK's default validator compiles schemas with `eval`; the model judges a
 * tool's result.
 */
const unchecked: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};
