import { AgentError } from '@isoloop/core';
import type { AgentErrorCode } from '@isoloop/core';
import type { RequestOptions } from '../chat/chat.ts';
import type { UIMessage } from '../chat/ui-message.ts';

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

/** Returns the channel on which pages tell each other about changes of a conversation. */
export function channelOf(path: string): BroadcastChannel {
  return new BroadcastChannel(`isoloop:${new URL(path, location.href)}`);
}

interface EndpointRequest {
  readonly method?: string;
  readonly body?: object;
  readonly headers?: RequestOptions['headers'];
  readonly signal?: AbortSignal;
}

/** Routes of an endpoint. Its methods reject with the error of the endpoint. */
export interface Routes {
  readonly pathOf: (sessionId: string) => string;
  readonly ask: (url: string, request?: EndpointRequest) => Promise<Response>;
  readonly messages: (sessionId: string) => Promise<UIMessage[]>;
}

/** Returns the routes of an endpoint. `latest` returns the options for each request. */
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
  return {
    pathOf,
    ask,
    async messages(sessionId) {
      const answer = await ask(`${pathOf(sessionId)}/messages`);
      return ((await answer.json()) as { readonly messages: UIMessage[] }).messages;
    },
  };
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
