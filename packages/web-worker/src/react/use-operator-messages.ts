import { checkId, checkOptions, sleepFor } from '@isoloop/core/adapter';
import { useEffect, useRef } from 'react';
import { isEndpoint, type AgentEndpoint, type AgentSource } from './source/agent-source.ts';
import type { Endpoint } from './source/endpoint-agent.ts';
import { channelOf, routesOf } from './source/endpoint-routes.ts';

/** How often a page looks, if its endpoint can't tell. */
export interface UseOperatorMessagesOptions {
  /**
   * Pause before the page looks again, in milliseconds. Only for an endpoint without Durable
   * Objects or `operatorDesk()`, and after a failure.
   * @default 5000
   */
  readonly retryMs?: number;
}

/**
 * Shows messages of operators as soon as they are stored, while the page is visible. `source` and
 * `sessionId` are those of `useAgentChat()`. Does nothing for a worker, which has no operators. The
 * request that waits keeps the conversation's Durable Object awake.
 *
 * @example
 * const chat = useAgentChat(endpoint, { sessionId });
 * useOperatorMessages(endpoint, chat.id);
 */
export function useOperatorMessages(
  source: AgentSource | undefined,
  sessionId: string,
  options: UseOperatorMessagesOptions = {},
): void {
  checkOptions('useOperatorMessages()', options, 'retryMs:nonNegative|?');
  checkId(sessionId, 'sessionId', 'CONFIGURATION');
  const { retryMs = 5000 } = options;
  const api = isEndpoint(source) ? source.api : undefined;
  const latest = useRef(source);
  useEffect(() => void (latest.current = source));
  useEffect(() => {
    if (api === undefined) return undefined;
    const ending = new AbortController();
    const endpoint = (): Endpoint => latest.current as AgentEndpoint as Endpoint;
    void follow(endpoint, `${api}/${encodeURIComponent(sessionId)}`, ending.signal, retryMs);
    return () => ending.abort();
  }, [api, sessionId, retryMs]);
}

/** Longest time until an endpoint without news answers, in milliseconds. */
const waitMs = 25_000;

/** Lets the chats of the conversation look for messages, until the signal aborts. */
async function follow(
  latest: () => Endpoint,
  path: string,
  signal: AbortSignal,
  retryMs: number,
): Promise<void> {
  const { ask } = routesOf(path, () => latest().options);
  const channel = channelOf(path);
  signal.addEventListener('abort', () => channel.close());
  for (let position = ''; !signal.aborted; await untilVisible(signal)) {
    try {
      const answer = await ask(`${path}/changes?after=${position}`, { signal, waitMs });
      if (answer.status === 204) continue;
      ({ position } = (await answer.json()) as { readonly position: string });
    } catch {
      await sleepFor(retryMs, signal);
    }
    if (!signal.aborted) channel.postMessage('changed');
  }
}

/** Resolves when the page is visible, or when the signal aborts. */
function untilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.visibilityState !== 'visible' && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}
