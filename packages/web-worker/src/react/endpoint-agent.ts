import { AgentError } from '@isoloop/core';
import type { AgentErrorCode } from '@isoloop/core';
import { checkOptions } from '@isoloop/core/adapter';
import { typedMessages, typedTransport } from '@isoloop/core/ai-sdk';
import { DefaultChatTransport, type UIMessage } from 'ai';
import type { AgentLink, AgentEndpoint } from './agent-source.ts';
import type { AgentSessionEntry } from './agent-sessions.ts';

export interface AgentEndpointOptions {
  /** Headers of each request, such as `authorization`. A function is called for each request. */
  readonly headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>);
  /** Further fields of each message, such as `model`. */
  readonly body?: object;
  readonly credentials?: RequestCredentials;
  /**
   * Function that makes the requests.
   * @default fetch
   */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Describes an endpoint of `@isoloop/edge` for `useAgentChat`. `api` is the address of its chat
 * route. The options may change from render to render.
 *
 * @example
 * const endpoint = agentEndpoint('/api/chat', { headers: { authorization: `Bearer ${token}` } });
 * const { messages } = useAgentChat(endpoint, { sessionId: 'notes' });
 */
export function agentEndpoint(api: string, options: AgentEndpointOptions = {}): AgentEndpoint {
  const fields = 'headers:object|function|? body:object|? credentials:string|? fetch:function|?';
  checkOptions('CONFIGURATION', 'agentEndpoint()', options, fields);
  const address = api.replace(/\/$/, '');
  const endpoint: Endpoint = {
    api: address,
    options,
    link: (given, latest) => {
      checkOptions('CONFIGURATION', 'useAgentChat()', given, linkFields);
      return linkEndpoint(address, given.sessionId, () => (latest() as Endpoint).options);
    },
  };
  return endpoint;
}

/** Fields of `UseAgentChatOptions` for `checkOptions`. */
const linkFields = 'sessionId:string agent,options,timeoutMs,page,throttle,listSessions';

interface Endpoint extends AgentEndpoint {
  readonly options: AgentEndpointOptions;
}

/** `latest` returns the options for each request. */
function linkEndpoint(
  api: string,
  sessionId: string,
  latest: () => AgentEndpointOptions,
): AgentLink {
  const routes = new Routes(api, latest);
  const path = routes.pathOf(sessionId);
  // The endpoint does not announce a new turn. This channel tells the browser's other tabs.
  const otherTabs = new BroadcastChannel(`isoloop:chat:${new URL(path, location.href).href}`);
  const closing = new AbortController();
  const tell = (): void => otherTabs.postMessage('changed');
  const transport = typedTransport(transportOf(routes, path, latest));
  return {
    transport: {
      ...transport,
      async sendMessages(asked) {
        const stream = await transport.sendMessages(asked);
        tell();
        return stream.pipeThrough(new TransformStream({ flush: tell }));
      },
    },
    outlivesPage: true,
    sessions: async () => ({
      list: () => routes.sessions(),
      rename: async (other, title) =>
        void (await routes.ask(routes.pathOf(other), 'PATCH', { title })),
      delete: async (other) => void (await routes.ask(routes.pathOf(other), 'DELETE')),
      export: async (other) => ({ sessionId: other, messages: await routes.messages(other) }),
    }),
    history: async () => typedMessages(await routes.messages(sessionId)),
    watch(listener) {
      const { signal } = closing;
      const look = (): void => {
        if (document.visibilityState === 'visible') listener();
      };
      otherTabs.addEventListener('message', () => listener(), { signal });
      addEventListener('focus', look, { signal });
      document.addEventListener('visibilitychange', look, { signal });
    },
    async stop() {
      // Conversations in KV cannot be interrupted. There, the end of the reading ends the turn.
      await routes.ask(`${path}/interrupt`, 'POST', { mode: 'abort' }).catch(() => {});
      tell();
    },
    close() {
      closing.abort();
      otherTabs.close();
    },
  };
}

/** The routes of an endpoint. Methods reject with the error of the endpoint. */
class Routes {
  readonly api: string;
  readonly #latest: () => AgentEndpointOptions;

  constructor(api: string, latest: () => AgentEndpointOptions) {
    this.api = api;
    this.#latest = latest;
  }

  pathOf(sessionId: string): string {
    return `${this.api}/${encodeURIComponent(sessionId)}`;
  }

  headers(): Readonly<Record<string, string>> {
    const { headers: given = {} } = this.#latest();
    return typeof given === 'function' ? given() : given;
  }

  async send(url: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const response = await (this.#latest().fetch ?? fetch)(url, init);
    // Servers of single-page apps answer unknown addresses with their page.
    if (response.ok && !response.headers.get('content-type')?.includes('html')) return response;
    throw await refusal(response, String(url));
  }

  async ask(url: string, method = 'GET', body?: object): Promise<Response> {
    const { credentials } = this.#latest();
    return this.send(url, {
      method,
      headers: { ...this.headers(), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      ...(credentials && { credentials }),
    });
  }

  async messages(sessionId: string): Promise<UIMessage[]> {
    const response = await this.ask(`${this.pathOf(sessionId)}/messages`);
    const { messages } = (await response.json()) as { readonly messages: UIMessage[] };
    return messages;
  }

  async sessions(): Promise<readonly AgentSessionEntry[]> {
    const response = await this.ask(`${this.api}s?limit=1000`);
    const { chats } = (await response.json()) as { readonly chats: readonly AgentSessionEntry[] };
    return chats;
  }
}

function transportOf(
  routes: Routes,
  path: string,
  latest: () => AgentEndpointOptions,
): DefaultChatTransport<UIMessage> {
  return new DefaultChatTransport<UIMessage>({
    api: routes.api,
    headers: () => routes.headers(),
    credentials: () => latest().credentials ?? 'same-origin',
    fetch: (url, init) => routes.send(url, init),
    // The endpoint has the history. The last answer may have decisions that are not sent yet.
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => {
      const last = messages.findLastIndex(({ role, parts }) => role === 'assistant' && parts[0]);
      const sent = messages.slice(Math.max(last, 0));
      return {
        body: { ...latest().body, ...body, id, trigger, messageId, messages: sent, events: true },
      };
    },
    prepareReconnectToStreamRequest: () => ({ api: `${path}/stream?events=true` }),
  });
}

/** Returns the error in the answer of an endpoint, or an error that says what may be wrong. */
async function refusal(response: Response, url: string): Promise<AgentError> {
  try {
    const { error } = (await response.json()) as {
      readonly error: { readonly code: AgentErrorCode; readonly message: string };
    };
    return new AgentError(error.code, error.message);
  } catch {
    return new AgentError(
      'INTERNAL',
      `${url} answered with ${response.status}. Give agentEndpoint() the address of a chat route, such as "/api/chat".`,
    );
  }
}
