import { AgentError } from '@isoloop/core';
import {
  checkId,
  checkOptions,
  object,
  func,
  either,
  optional,
  string,
  positive,
  type OptionTable,
} from '@isoloop/core/options';
import { endpointPlace, type EndpointPlaceOptions } from '@isoloop/core/move';
import { requestEndpoint } from '@isoloop/core/endpoint';
import { SseParser } from '@isoloop/core/model';
import { recordsOf } from '@isoloop/core/log';
import type { InspectedEvent } from '../steps/event-runs.ts';
import type { InspectorSession, InspectorSource } from './inspector-source.ts';

/** How to send requests to an endpoint, and what a fork asks for. */
export interface EndpointSourceOptions extends EndpointPlaceOptions {
  /** Model name for forks: one of the endpoint's `models`. Default: the endpoint's first one. */
  readonly model?: string;
  /**
   * Time between two looks for a new turn, in milliseconds, while the page is visible. Default:
   * 2,000.
   */
  readonly pollMs?: number;
}

/**
 * Inspects the conversations of an endpoint of `@isoloop/edge`. `api`: address of its chat route.
 *
 * - Live events need sessions in Durable Objects. They have prompts only if the endpoint's option
 *   `inspect` allows the user to see them.
 * - Records, replays, forks and tests need the endpoint's option `moves`. Without it, the inspector
 *   shows only the turns that run while it is open.
 *
 * Throws `CONFIGURATION` for an unknown option.
 */
export function endpointSource(api: string, options: EndpointSourceOptions = {}): InspectorSource {
  checkOptions('endpointSource()', options, endpointSourceOptions);
  const { model, pollMs = 2_000, ...placeOptions } = options;
  const address = new URL(api, location.href).href.replace(/\/$/, '');
  const place = endpointPlace(address, placeOptions);
  const pathOf = (sessionId: string): string => {
    checkId(sessionId, 'session id');
    return `${address}/${encodeURIComponent(sessionId)}`;
  };
  const ask = (url: string, init: RequestInit = {}): Promise<Response> =>
    request(url, init, placeOptions);
  return {
    async sessions() {
      const response = await ask(`${address}s?limit=1000`);
      return ((await response.json()) as { readonly chats: readonly InspectorSession[] }).chats;
    },
    async records(sessionId) {
      checkId(sessionId, 'session id');
      try {
        return (await place.read(sessionId))?.records ?? [];
      } catch (error) {
        if (isWithoutMoves(error)) return [];
        throw error;
      }
    },
    async *events(sessionId, signal) {
      const path = pathOf(sessionId);
      // The endpoint does not announce a new turn, but chats of this browser do.
      const chatChannel = new BroadcastChannel(`isoloop:chat:${path}`);
      try {
        while (!signal.aborted) {
          try {
            const response = await ask(`${path}/stream?events=inspect`, { signal });
            if (response.status === 200) yield* eventsIn(response);
          } catch (error) {
            // The next stream repeats the events of the turn.
            if (!AgentError.is(error) || error.code !== 'ENDPOINT_TIMEOUT') throw error;
          }
          await waitForTurn(chatChannel, pollMs, signal);
        }
      } finally {
        chatChannel.close();
      }
    },
    async fork({ messages, input }) {
      const sessionId = crypto.randomUUID();
      const records = recordsOf(messages);
      if (messages.length)
        await place.put({ format: 'isoloop-session', version: 5, sessionId, records });
      const body = JSON.stringify({ sessionId, model, input });
      const headers = { 'content-type': 'application/json' };
      const runUrl = address.replace(/chat$/, 'run');
      const response = await ask(runUrl, { method: 'POST', headers, body });
      // The turn goes on without this reader.
      response.body?.cancel().catch(() => {});
      return sessionId;
    },
  };
}

const endpointSourceOptions: OptionTable<EndpointSourceOptions> = {
  headers: optional(either(object, func)),
  credentials: optional(either(string, func)),
  model: optional(string),
  fetch: optional(func),
  pollMs: optional(positive),
  timeoutMs: optional(positive),
  silenceMs: optional(positive),
};

async function request(
  url: string,
  init: RequestInit,
  options: EndpointPlaceOptions,
): Promise<Response> {
  const response = await requestEndpoint({ ...options, url, init, signal: init.signal });
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as {
    readonly error?: Pick<AgentError, 'code' | 'message'>;
  };
  const message = error?.message ?? `${url} answered with ${response.status}.`;
  throw new AgentError(error?.code ?? 'INTERNAL', message);
}

/** Without `moves`, an endpoint has no route for whole conversations. */
function isWithoutMoves(error: unknown): boolean {
  return (
    AgentError.is(error) && /^(NOT_FOUND|INVALID_INPUT|NEEDS_DURABLE_OBJECT)$/.test(error.code)
  );
}

async function* eventsIn({ body }: Response): AsyncGenerator<readonly InspectedEvent[]> {
  const parser = new SseParser();
  const reader = body!.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const messages = parser.push(value).filter(({ data }) => data !== '[DONE]');
      if (messages.length) yield messages.map(({ data }) => JSON.parse(data) as InspectedEvent);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Resolves when a chat of this browser has sent something, or after `pollMs`. */
function waitForTurn(
  chatChannel: BroadcastChannel,
  pollMs: number,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') end();
    }, pollMs);
    const end = (): void => {
      clearInterval(timer);
      chatChannel.removeEventListener('message', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    chatChannel.addEventListener('message', end);
    signal.addEventListener('abort', end);
  });
}
