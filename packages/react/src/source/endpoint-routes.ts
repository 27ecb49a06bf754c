import { AgentError, type AgentErrorCode } from '@isoloop/core';
import { checkId } from '@isoloop/core/options';
import type { QueuedMessage, RequestOptions } from '@isoloop/core/host';
import {
  requestEndpoint,
  type EndpointLimits,
  type PerRequest,
  type RequestHeaders,
} from '@isoloop/core/endpoint';
import { sleepFor } from '@isoloop/core/wait';
import type { UIMessage } from '@isoloop/core/stream';
import { isLost } from './lost-connection.ts';

/** How to send requests to an endpoint: headers, body, credentials, `fetch` and time limits. */
export interface AgentEndpointOptions extends EndpointLimits {
  /**
   * Headers of each request, such as `authorization`. A function is called for each request, and
   * may be asynchronous. If it fails, the request rejects with `UNAUTHORIZED`.
   */
  readonly headers?: PerRequest<RequestHeaders>;
  /** Further fields of each message, such as `model`, or a function that returns them. */
  readonly body?: PerRequest<object>;
  readonly credentials?: PerRequest<RequestCredentials>;
  /** Function that makes the requests. Default: `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Returns the channel on which pages tell each other about changes of a conversation. */
export function channelOf(path: string): BroadcastChannel {
  return new BroadcastChannel(`isoloop:${new URL(path, location.href)}`);
}

interface StoredConversation {
  readonly messages: UIMessage[];
  readonly queued?: readonly QueuedMessage[];
}
/** What the channel says when a page has deleted the conversation. */
export const deletedMessage = 'deleted';

interface EndpointRequest {
  readonly method?: string;
  readonly body?: object;
  readonly headers?: RequestOptions['headers'];
  readonly signal?: AbortSignal;
  /** Time in which the endpoint waits for something to answer, in milliseconds. Default: 0. */
  readonly waitMs?: number;
}

/** Routes of an endpoint. Its methods reject with the error of the endpoint. */
export interface EndpointRoutes {
  readonly pathOf: (sessionId: string) => string;
  readonly ask: (url: string, request?: EndpointRequest) => Promise<Response>;
  readonly messages: (sessionId: string) => Promise<UIMessage[]>;
  /** Reads the messages, and those that wait at the endpoint. */
  readonly conversation: (sessionId: string) => Promise<StoredConversation>;
  /**
   * Ends the running turn of a conversation. Tries again if the endpoint is busy or cannot be
   * reached, until the signal aborts. Returns false for a conversation in KV, whose turn ends with
   * its reading.
   */
  readonly interrupt: (sessionId: string, signal?: AbortSignal) => Promise<boolean>;
}

/** Longest wait for the beginning of an answer, in milliseconds. */
const defaultTimeoutMs = 20_000;

/** Pauses before the attempts to stop a turn, in milliseconds. */
const stopPausesMs = [0, 500, 2000];

/**
 * Returns the routes of an endpoint. `latest` returns the options for each request. `onAnswer`:
 * called with each answer that is no error, which then waits for it.
 */
export function routesOf(
  api: string,
  latest: () => AgentEndpointOptions,
  onAnswer?: (answer: Response) => void | Promise<void>,
): EndpointRoutes {
  const pathOf = (sessionId: string): string => {
    checkId(sessionId, 'sessionId', 'CONFIGURATION');
    return `${api}/${encodeURIComponent(sessionId)}`;
  };
  const ask: EndpointRoutes['ask'] = async (
    url,
    { method = 'GET', body, headers, signal, waitMs = 0 } = {},
  ) => {
    const { body: _body, timeoutMs = defaultTimeoutMs, ...common } = latest();
    const response = await requestEndpoint({
      ...common,
      url,
      init: { method, ...bodyOf(body, headers) },
      timeoutMs: timeoutMs + waitMs,
      signal,
    });
    // Servers of single-page apps answer unknown addresses with their page.
    if (response.ok && !response.headers.get('content-type')?.includes('html')) {
      await onAnswer?.(response);
      return response;
    }
    throw await endpointError(response, url);
  };
  const conversation: EndpointRoutes['conversation'] = async (sessionId) => {
    const answer = await ask(`${pathOf(sessionId)}/messages`);
    return (await answer.json()) as StoredConversation;
  };
  return {
    pathOf,
    ask,
    conversation,
    messages: async (sessionId) => (await conversation(sessionId)).messages,
    async interrupt(sessionId, signal) {
      const url = `${pathOf(sessionId)}/interrupt`;
      for (const [index, pauseMs] of stopPausesMs.entries()) {
        await sleepFor(pauseMs, signal);
        if (signal?.aborted) break;
        try {
          await ask(url, { method: 'POST', body: { mode: 'abort' } });
          break;
        } catch (error) {
          if (AgentError.is(error) && error.code === 'NEEDS_DURABLE_OBJECT') return false;
          if (index === stopPausesMs.length - 1 || !mayPass(error)) throw stopError(error);
        }
      }
      return true;
    },
  };
}

/** Returns the body and its headers. A `TypeError` would look like a lost connection. */
function bodyOf(
  body: object | undefined,
  headers: EndpointRequest['headers'],
): Pick<RequestInit, 'body' | 'headers'> {
  try {
    const ownHeaders = new Headers(headers);
    if (body) ownHeaders.set('content-type', 'application/json');
    return { headers: ownHeaders, body: body ? JSON.stringify(body) : null };
  } catch (cause) {
    const message =
      'The request has a header that HTTP cannot send, or a value without a JSON form.';
    throw new AgentError('INVALID_INPUT', message, { cause });
  }
}

/** Returns whether another attempt may succeed. */
function mayPass(error: unknown): boolean {
  return isLost(error) || (AgentError.is(error) && error.retryable);
}

/** An error of the browser has no code. */
function stopError(error: unknown): AgentError {
  if (AgentError.is(error)) return error;
  const message = 'The answer could not be stopped: the endpoint could not be reached.';
  return new AgentError('ENDPOINT_TIMEOUT', message, { cause: error, retryable: true });
}

/** Returns the error in the answer of an endpoint, or an error that says what may be wrong. */
async function endpointError(response: Response, url: string): Promise<AgentError> {
  const { status } = response;
  const retryable = status === 429 || status >= 500;
  const options = { retryable, details: { status } };
  try {
    const { error } = (await response.json()) as {
      readonly error: { readonly code: AgentErrorCode; readonly message: string };
    };
    return new AgentError(error.code, error.message, options);
  } catch {
    return new AgentError(
      'INTERNAL',
      `${url} answered with ${status}. Give agentEndpoint() a route: "/api/chat".`,
      options,
    );
  }
}
