import { AgentError } from '@isoloop/core';
import type { AgentErrorCode } from '@isoloop/core';
import { SseParser, toTypedChunk } from '@isoloop/core/adapter';
import { typedMessages } from '@isoloop/core/ai-sdk';
import { checkArguments } from '../../page/check-arguments.ts';
import type { AgentLink, AgentEndpoint } from './agent-source.ts';
import type { AgentSessionEntry } from './agent-sessions.ts';
import type { AnswerBatches, AnswerRequest } from '../chat/chat.ts';
import type { UIMessage } from '../chat/ui-message.ts';
import type { UIMessageChunk } from '../chat/ui-message-chunk.ts';

/** How to send requests to an endpoint: headers, body, credentials and `fetch`. */
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
  const { headers: _h, body: _b, credentials: _c, fetch: _f, ...others } = options;
  const isFit = typeof api === 'string';
  checkArguments('agentEndpoint() takes api, headers, body, credentials, fetch', isFit, others);
  const address = api.replace(/\/$/, '');
  const endpoint: Endpoint = {
    api: address,
    options,
    link: ({ sessionId, agent: _a, options: _o, timeoutMs: _t, page: _p, ...unknown }, latest) => {
      checkArguments(
        'useAgentChat() takes sessionId, throttleMs, listSessions',
        sessionId,
        unknown,
      );
      return linkEndpoint(address, sessionId, () => (latest() as Endpoint).options);
    },
  };
  return endpoint;
}

export interface Endpoint extends AgentEndpoint {
  readonly options: AgentEndpointOptions;
}

/** `latest` returns the options for each request. */
function linkEndpoint(
  api: string,
  sessionId: string,
  latest: () => AgentEndpointOptions,
): AgentLink {
  const { pathOf, ask, messages, sessions } = routesOf(api, latest);
  const path = pathOf(sessionId);
  // The endpoint does not announce a new turn. This channel tells the browser's other tabs.
  const otherTabs = channelOf(path);
  const closeController = new AbortController();
  const tell = (): void => otherTabs.postMessage('changed');
  return {
    async send(request, signal) {
      const answer = await ask(api, {
        method: 'POST',
        body: bodyOf(sessionId, request, latest().body),
        headers: request.headers,
        signal,
      });
      tell();
      return batchesOf(answer, tell);
    },
    async reconnect(signal) {
      const answer = await ask(`${path}/stream?events=true`, { signal });
      return answer.status === 204 ? undefined : batchesOf(answer);
    },
    outlivesPage: true,
    sessions: async () => ({
      list: sessions,
      rename: (other, title) => ask(pathOf(other), { method: 'PATCH', body: { title } }),
      delete: (other) => ask(pathOf(other), { method: 'DELETE' }),
      export: async (other) => ({ sessionId: other, messages: await messages(other) }),
    }),
    history: async () => typedMessages(await messages(sessionId)),
    watch(listener) {
      const { signal } = closeController;
      const look = (): void => {
        if (!document.hidden) listener();
      };
      otherTabs.addEventListener('message', () => listener(), { signal });
      addEventListener('focus', look, { signal });
      document.addEventListener('visibilitychange', look, { signal });
    },
    async stop() {
      // Conversations in KV cannot be interrupted. There, the end of the reading ends the turn.
      await ask(`${path}/interrupt`, { method: 'POST', body: { mode: 'abort' } }).catch(() => {});
      tell();
    },
    close() {
      closeController.abort();
      otherTabs.close();
    },
  };
}

/** Returns the channel on which pages tell each other about changes of a conversation. */
export function channelOf(path: string): BroadcastChannel {
  return new BroadcastChannel(`isoloop:${new URL(path, location.href)}`);
}

interface EndpointRequest {
  readonly method?: string;
  readonly body?: object;
  readonly headers?: AnswerRequest['headers'];
  readonly signal?: AbortSignal;
}

interface Routes {
  readonly pathOf: (sessionId: string) => string;
  readonly ask: (url: string, request?: EndpointRequest) => Promise<Response>;
  readonly messages: (sessionId: string) => Promise<UIMessage[]>;
  readonly sessions: () => Promise<readonly AgentSessionEntry[]>;
}

/** Returns the routes of an endpoint. Its methods reject with the error of the endpoint. */
export function routesOf(api: string, latest: () => AgentEndpointOptions): Routes {
  const pathOf = (sessionId: string): string => `${api}/${encodeURIComponent(sessionId)}`;
  const ask: Routes['ask'] = async (url, { method = 'GET', body, headers, signal = null } = {}) => {
    const { headers: ownHeaders, credentials, fetch: send = fetch } = latest();
    const common = new Headers(typeof ownHeaders === 'function' ? ownHeaders() : ownHeaders);
    if (body) common.set('content-type', 'application/json');
    const response = await send(url, {
      method,
      headers: Object.fromEntries([...common, ...new Headers(headers)]),
      body: body ? JSON.stringify(body) : null,
      ...(credentials && { credentials }),
      signal,
    });
    // Servers of single-page apps answer unknown addresses with their page.
    if (response.ok && !response.headers.get('content-type')?.includes('html')) return response;
    throw await endpointError(response, url);
  };
  const readJson = async <T>(url: string): Promise<T> => (await ask(url)).json() as Promise<T>;
  return {
    pathOf,
    ask,
    messages: async (sessionId) =>
      (await readJson<{ readonly messages: UIMessage[] }>(`${pathOf(sessionId)}/messages`))
        .messages,
    sessions: async () =>
      (await readJson<{ readonly chats: readonly AgentSessionEntry[] }>(`${api}s?limit=1000`))
        .chats,
  };
}

/** Returns what the endpoint needs of a request. It has the messages before the last answer. */
function bodyOf(
  id: string,
  { trigger, messages, messageId, body }: AnswerRequest,
  common: object | undefined,
): object {
  // The last answer may have decisions that are not sent yet.
  const answerIndex = messages.findLastIndex(({ role, parts }) => role === 'assistant' && parts[0]);
  const unsentMessages = messages.slice(Math.max(answerIndex, 0));
  return { events: true, ...common, ...body, id, trigger, messageId, messages: unsentMessages };
}

/**
 * Reads an event stream up to its `[DONE]`. Each piece of the network is a batch. `onEnd`: called
 * at its end.
 */
async function* batchesOf({ body }: Response, onEnd?: () => void): AnswerBatches {
  const parser = new SseParser();
  const reader = body!.getReader();
  try {
    for (let isOpen = true; isOpen;) {
      const { done, value } = await reader.read();
      // In WebKit, a lost connection looks like the end of the stream.
      if (done) throw new TypeError('network');
      yield parser.push(value).flatMap(({ data }) => {
        isOpen = data !== '[DONE]';
        return isOpen ? (toTypedChunk(JSON.parse(data)) as UIMessageChunk) : [];
      });
    }
    onEnd?.();
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Returns the error in the answer of an endpoint, or an error that says what may be wrong. */
async function endpointError(response: Response, url: string): Promise<AgentError> {
  try {
    const { error } = (await response.json()) as {
      readonly error: { readonly code: AgentErrorCode; readonly message: string };
    };
    return new AgentError(error.code, error.message);
  } catch {
    return new AgentError(
      'INTERNAL',
      `${url} answered with ${response.status}. Give agentEndpoint() a route: "/api/chat".`,
    );
  }
}
