import type * as sdk from '@modelcontextprotocol/client';
import { AgentError, errorText, type JsonObject } from '@isoloop/core';
import { sleepFor } from '@isoloop/core/wait';
import { lostAnswer } from './mcp-error.ts';
import { toHeaders, type McpToolsOptions } from './mcp-options.ts';

type RequestId = string | number;
type Send = sdk.StreamableHTTPClientTransport['send'];

/**
 * The connection of one session: the SDK's transport, which this class makes sure to end requests.
 *
 * - A request fails if its stream ends before the answer and cannot be resumed.
 * - The stream of a canceled request is closed, because a browser has only six per server.
 */
export class McpConnection {
  readonly transport: sdk.StreamableHTTPClientTransport;
  /** Requests without an answer. */
  readonly #open = new Map<RequestId, AbortController>();

  constructor(Transport: typeof sdk.StreamableHTTPClientTransport, options: McpToolsOptions) {
    const { url, auth, reconnect = {} } = options;
    const address = new URL(url);
    this.transport = new Transport(address, {
      fetch: (target, init) => send(options, target, init, String(target) === address.href),
      ...(auth && { authProvider: guardedAuth(auth) }),
      // These options apply to a stream that breaks. After these retries, the session counts as
      // lost.
      reconnectionOptions: {
        initialReconnectionDelay: Math.min(1_000, reconnect.firstDelayMs ?? 1_000),
        reconnectionDelayGrowFactor: 2,
        maxReconnectionDelay: 60_000,
        maxRetries: 2,
      },
    });
    const original = this.transport.send.bind(this.transport);
    this.transport.send = (message, sendOptions) => this.#send(original, message, sendOptions);
  }

  /** Passes each message of the server through `read`. Call it after the client has connected. */
  readWith(read: (message: sdk.JSONRPCMessage) => sdk.JSONRPCMessage): void {
    const { transport } = this;
    const { onmessage } = transport;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- no event target
    transport.onmessage = (message) => {
      if (!('method' in message)) this.#open.delete(message.id!);
      onmessage?.(read(message));
    };
  }

  async #send(original: Send, ...[message, sendOptions]: Parameters<Send>): Promise<void> {
    if (Array.isArray(message) || !('method' in message)) return original(message, sendOptions);
    const { method, params } = message;
    if (method === 'notifications/cancelled')
      this.#open.get(params?.['requestId'] as RequestId)?.abort();
    if (!('id' in message)) return original(message, sendOptions);
    const { id } = message;
    const controller = new AbortController();
    this.#open.set(id, controller);
    const { requestSignal = controller.signal, onRequestStreamEnd = () => this.#fail(id) } =
      sendOptions ?? {};
    const sentMessage = method === 'initialize' ? withoutForms(message) : message;
    await original(sentMessage, { ...sendOptions, requestSignal, onRequestStreamEnd });
  }

  #fail(id: RequestId): void {
    if (this.#open.has(id)) this.transport.onmessage?.({ jsonrpc: '2.0', id, error: lostAnswer });
  }
}

/**
 * Returns the first message to a server of an older revision. Such a server would wait for the
 * answers of its forms, and the wait would end with this process. So it may only name pages to
 * visit.
 */
function withoutForms(message: sdk.JSONRPCRequest): sdk.JSONRPCRequest {
  const { capabilities = {} } = message.params as { readonly capabilities?: JsonObject };
  if (!capabilities['elicitation']) return message;
  const params = { ...message.params, capabilities: { ...capabilities, elicitation: { url: {} } } };
  return { ...message, params };
}

async function send(
  { headers: ownHeaders, fetch: original = fetch }: McpToolsOptions,
  url: string | URL,
  init: RequestInit = {},
  isForServer: boolean,
): Promise<Response> {
  // The authorization flow has requests to other addresses, which must not get these headers.
  if (!isForServer) return sendForToken(() => original(url, init), init);
  if (!ownHeaders) return original(url, init);
  const headers = new Headers(init.headers);
  const addedHeaders = await (typeof ownHeaders === 'function'
    ? withAuthCode('headers()', ownHeaders)
    : ownHeaders);
  toHeaders(addedHeaders).forEach((value, name) => headers.set(name, value));
  return original(url, { ...init, headers });
}

/** Waits before the second and third try to renew a token, in milliseconds. */
const renewalDelaysMs: readonly number[] = [250, 750];

/**
 * Sends a request of the authorization flow. Tries again to renew a token, because after one
 * failure the SDK would ask a person (aaif-goose/goose#12016).
 */
async function sendForToken(
  request: () => Promise<Response>,
  { body, signal }: RequestInit,
): Promise<Response> {
  if (!String(body).includes('grant_type=refresh_token')) return request();
  for (const delayMs of renewalDelaysMs) {
    const response = await request().catch(() => undefined);
    if (response && response.status !== 429 && response.status < 500) return response;
    await sleepFor(delayMs, signal ?? undefined);
  }
  return request();
}

/** Returns the provider with errors that say that they come from the authorization. */
function guardedAuth(provider: sdk.OAuthClientProvider): sdk.OAuthClientProvider {
  return new Proxy(provider, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) =>
        withAuthCode(`auth.${String(name)}()`, () => Reflect.apply(value, target, args) as unknown);
    },
  });
}

/** Calls a function of the user. Rejects with `MCP_AUTH` if it fails. */
async function withAuthCode<T>(what: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new AgentError('MCP_AUTH', `mcpTools(): ${what} failed: ${errorText(cause)}`, { cause });
  }
}
