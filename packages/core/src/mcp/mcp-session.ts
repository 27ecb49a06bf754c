import type { Client } from '@modelcontextprotocol/client';
import { AgentError } from '../error/agent-error.ts';
import { abortable } from '../model/abortable.ts';
import { Deadline } from '../model/deadline.ts';
import { callTool, type McpCall, type McpCallOptions } from './call/mcp-call.ts';
import { newClient } from './mcp-client.ts';
import { lostAnswer, toMcpError } from './mcp-error.ts';
import { McpFetch } from './mcp-fetch.ts';
import type { McpToolList } from './mcp-list.ts';
import { serverName, type McpToolsOptions } from './mcp-options.ts';
import type { McpReply } from './call/mcp-question.ts';
import { loadMcpSdk } from './mcp-sdk.ts';
import type { OpenCall } from './call/open-call.ts';

/** One session with an MCP server, from the handshake to its end. */
export interface McpSession {
  /** Tools that the server listed after the handshake. */
  readonly listed: McpToolList;
  readonly instructions: string | undefined;
  /** Whether a tool call can be sent again with answers, as of revision 2026-07-28. */
  readonly takesAnswers: boolean;
  list(): Promise<McpToolList>;
  /** Calls a tool of the server. Rejects with the SDK's own errors. */
  call(call: McpCall, options: McpCallOptions): Promise<McpReply>;
  /** Calls a tool of a server that keeps tool calls open until its questions are answered. */
  open(call: McpCall): OpenCall;
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
  const { connectTimeoutMs = 30_000 } = options;
  const name = serverName(options);
  const sdk = await loadMcpSdk();
  const http = new McpFetch(options, () => listener.onGone());
  const { client, transport, connect, lister, openCall } = newClient(sdk, http, options);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- no event target
  client.onerror = ({ message }) => {
    if (message.startsWith('Maximum reconnection attempts')) listener.onGone();
  };
  client.setNotificationHandler('notifications/tools/list_changed', () => listener.onListChanged());
  const timedOut = (ms: number): AgentError =>
    new AgentError('MCP_TIMEOUT', `The MCP server "${name}" did not connect within ${ms} ms`, {
      retryable: true,
    });
  const deadline = new Deadline(signal, connectTimeoutMs, timedOut);
  // If no request is running, none of these ids still needs an answer.
  const running = new RunningRequests(() => http.ended.clear());
  const list = (): Promise<McpToolList> => lister.list(client, connectTimeoutMs);
  try {
    const listed = await deadline.wait(async () => {
      await connect();
      await subscribe(client, connectTimeoutMs / 2, () => listener.onGone());
      return list();
    });
    return {
      listed,
      instructions: client.getInstructions(),
      takesAnswers: client.getProtocolEra() === 'modern',
      list: () => running.note(list()),
      call: (call, callOptions) => running.note(callTool(client, call, callOptions)),
      open: (call) => openCall(call, (request) => running.note(request)),
      async drop() {
        http.giveUp();
        for (const id of http.ended)
          transport().onmessage?.({ jsonrpc: '2.0', id, error: lostAnswer });
        await abortable(running.settled(), signal).catch(() => {});
        await client.close();
      },
      async close() {
        const leaving = new Deadline(new AbortController().signal, connectTimeoutMs, timedOut);
        await leaving.wait(() => transport().terminateSession()).catch(() => {});
        leaving.end();
        await client.close();
      },
    };
  } catch (error) {
    await transport().close();
    await client.close();
    throw toMcpError(error, name);
  } finally {
    deadline.end();
  }
}

/** The requests that have no answer yet. `onNone` is called after each one that was the last. */
class RunningRequests {
  readonly #requests: Set<Promise<unknown>> = new Set();
  readonly #onNone: () => void;

  constructor(onNone: () => void) {
    this.#onNone = onNone;
  }

  note<T>(request: Promise<T>): Promise<T> {
    const end = (): void => {
      this.#requests.delete(request);
      if (!this.#requests.size) this.#onNone();
    };
    this.#requests.add(request);
    request.then(end, end);
    return request;
  }

  settled(): Promise<unknown> {
    return Promise.allSettled(this.#requests);
  }
}

/**
 * Asks a server of revision 2026-07-28 to report changes of its tools. Older servers do so without
 * being asked. A server that does not answer in time reports no changes. `onEnd` is called when the
 * server ends the reports.
 */
async function subscribe(client: Client, timeout: number, onEnd: () => void): Promise<void> {
  const isAsked = client.getProtocolEra() === 'modern';
  if (!isAsked || !client.getServerCapabilities()?.tools?.listChanged) return;
  try {
    const { closed } = await client.listen({ toolsListChanged: true }, { timeout });
    void closed.then((cause) => cause !== 'local' && onEnd());
  } catch {
    // The tools work without reports. `refresh()` lists them again.
  }
}
