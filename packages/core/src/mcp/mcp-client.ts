import type {
  Client,
  ClientOptions,
  StreamableHTTPClientTransport,
  Transport,
  OAuthClientProvider,
} from '@modelcontextprotocol/client';
import { longestTimeout } from '../model/timer.ts';
import type { McpCall } from './call/mcp-call.ts';
import type { McpFetch } from './mcp-fetch.ts';
import { toolLister, type McpToolLister } from './mcp-list.ts';
import type { McpToolsOptions } from './mcp-options.ts';
import { toQuestion } from './call/mcp-question.ts';
import type { McpSdk } from './mcp-sdk.ts';
import { OpenCall } from './call/open-call.ts';
import type { RequestId } from './stream-observer.ts';
import { AgentError, messageOf } from '../error/agent-error.ts';

export interface McpClient {
  readonly client: Client;
  readonly lister: McpToolLister;
  /** Returns the transport of the last attempt to connect. */
  transport(): StreamableHTTPClientTransport;
  /** Connects with revision 2026-07-28, or with an older one if the server does not know it. */
  connect(): Promise<void>;
  /** Calls a tool of an older server. `note` gets the promise of the request. */
  openCall(call: McpCall, note: <T>(request: Promise<T>) => Promise<T>): OpenCall;
}

/** Creates the SDK's client with the parts that one session needs. */
export function newClient(sdk: McpSdk, http: McpFetch, options: McpToolsOptions): McpClient {
  const { clientInfo = { name: 'isoloop', version: '0' }, elicitation = true } = options;
  const lister = toolLister(sdk);
  const client = new sdk.Client(clientInfo, {
    jsonSchemaValidator: unchecked,
    listMaxPages: mostPages,
    versionNegotiation: { mode: 'auto' },
    ...(elicitation && { capabilities: { elicitation: { form: {}, url: {} } } }),
  });
  let transport = newTransport(sdk, http, options);
  const openCalls = new Map<RequestId, OpenCall>();
  if (elicitation)
    client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
      const asker = http.askedBy(mcpReq.id);
      const [only, ...others] = openCalls.values();
      const call = asker === undefined ? !others.length && only : openCalls.get(asker);
      const question = toQuestion(params);
      return call && question ? call.ask(question, mcpReq.signal) : { action: 'cancel' };
    });

  const connectOnce = async (more: Parameters<Client['connect']>[1] = {}): Promise<void> => {
    // The SDK's types do not compile under `exactOptionalPropertyTypes`.
    await client.connect(transport as Transport, { timeout: longestTimeout, ...more });
    const { onmessage } = transport;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- no event target
    transport.onmessage = (message) => onmessage?.(lister.tidy(message));
  };

  return {
    client,
    lister,
    transport: () => transport,
    async connect() {
      try {
        await connectOnce();
      } catch (error) {
        if (!isRefusedByBrowser(error)) throw error;
        transport = newTransport(sdk, http, options);
        await connectOnce({ prior: { kind: 'legacy' } });
      }
    },
    openCall({ name, arguments: given }, note) {
      let id: RequestId | undefined;
      const send = transport.send.bind(transport);
      // The client sends the request at once, so this is the id of the tool call.
      transport.send = (message, sendOptions) => {
        if ('id' in message && 'method' in message) ({ id } = message);
        return send(message, sendOptions);
      };
      const call = new OpenCall((callOptions) =>
        note(
          client.request(
            { method: 'tools/call', params: { name, arguments: given } },
            { ...callOptions, timeout: longestTimeout },
          ),
        ).finally(() => id !== undefined && openCalls.delete(id)),
      );
      transport.send = send;
      if (id !== undefined) openCalls.set(id, call);
      return call;
    },
  };
}

/** Maximum number of pages of a tool list. */
const mostPages = 1_000;

function newTransport(
  sdk: McpSdk,
  http: McpFetch,
  { url, auth, reconnect = {} }: McpToolsOptions,
): StreamableHTTPClientTransport {
  return new sdk.StreamableHTTPClientTransport(new URL(url), {
    fetch: (...request) => http.fetch(...request),
    ...(auth && { authProvider: guardedAuth(auth) }),
    // These options apply to a stream that breaks. After these retries, the session counts as lost.
    reconnectionOptions: {
      initialReconnectionDelay: Math.min(1_000, reconnect.firstDelayMs ?? 1_000),
      reconnectionDelayGrowFactor: 2,
      maxReconnectionDelay: 60_000,
      maxRetries: 2,
    },
  });
}

/**
 * Returns whether a browser may have refused the first request because an older server does not
 * allow its new headers (CORS). The SDK knows pages, but not workers.
 */
function isRefusedByBrowser(error: unknown): boolean {
  const { code, cause } = Object(error) as { readonly code?: unknown; readonly cause?: unknown };
  const isRefused = code === 'ERA_NEGOTIATION_FAILED' && Object(cause).name === 'TypeError';
  return isRefused && 'location' in globalThis;
}

/**
 * Accepts any result of a tool. The SDK's default validator compiles schemas with `eval`, which
 * some platforms forbid.
 */
const unchecked: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

/** Returns the provider with errors that say that they come from the authorization. */
function guardedAuth(provider: OAuthClientProvider): OAuthClientProvider {
  return new Proxy(provider, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]): Promise<unknown> => {
        try {
          return await Reflect.apply(value, target, given);
        } catch (cause) {
          throw new AgentError(
            'MCP_AUTH',
            `mcpTools(): auth.${String(name)}() failed: ${messageOf(cause)}`,
            { cause },
          );
        }
      };
    },
  });
}
