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

/** One session with an MCP server, from the handshake to its end. */
export interface McpSession {
  /** Tools that the server listed after the handshake. */
  readonly listed: McpToolList;
  readonly instructions: string | undefined;
  list(): Promise<McpToolList>;
  /** Calls a tool of the server. Rejects with the SDK's own errors. */
  call(name: string, input: JsonObject, options: McpCallOptions): Promise<CallToolResult>;
  /**
   * Closes the session on the client's side only, after all running requests have their answers.
   * The answer of a request shows whether the server still knew the session. If it did not, the
   * request may be repeated in a new session.
   */
  drop(): Promise<void>;
  /**
   * Asks the server to end the session, and waits `connectTimeoutMs` at most. Then closes all
   * connections.
   */
  close(): Promise<void>;
}

export interface McpCallOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

export interface McpSessionListener {
  /** Called when the server no longer knows the session or cannot be reached. */
  onGone(): void;
  onListChanged(): void;
}

/**
 * Connects and lists the tools. On a failure, closes all connections and rejects with an
 * `AgentError`.
 */
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
    // These options apply to a stream that breaks. After these retries, the session counts as lost.
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
      // No request is running, so none of these ids still needs an answer.
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
      // The cast is needed: the SDK's types do not compile under `exactOptionalPropertyTypes`.
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
 * Accepts any result of a tool. The SDK's default validator compiles schemas with `eval`, which
 * some platforms forbid.
 */
const unchecked: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};
