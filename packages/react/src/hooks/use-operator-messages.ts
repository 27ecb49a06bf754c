import { changesWaitMs } from '@isoloop/core/endpoint';
import {
  checkId,
  checkOptions,
  nonNegative,
  optional,
  type OptionTable,
} from '@isoloop/core/options';
import { sleepFor } from '@isoloop/core/wait';
import { useEffect, useRef } from 'react';
import { isEndpoint, type AgentEndpoint, type AgentSource } from '../source/agent-source.ts';
import type { Endpoint } from '../source/endpoint-agent.ts';
import { channelOf, routesOf } from '../source/endpoint-routes.ts';
import { takeLock } from '../shared/held-lock.ts';
import { untilVisible, visibleSignal } from '../shared/page-life.ts';

/** How often a page looks, if its endpoint can't tell. */
export interface UseOperatorMessagesOptions {
  /**
   * Pause before the page looks again, in milliseconds. Only for an endpoint without Durable
   * Objects or `operatorDesk()`, and after a failure. Default: 5000.
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
  checkOptions('useOperatorMessages()', options, operatorMessagesOptions);
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

const operatorMessagesOptions: OptionTable<UseOperatorMessagesOptions> = {
  retryMs: optional(nonNegative),
};

/**
 * Lets the chats of the conversation look for messages, until the signal aborts. Of the visible
 * tabs of a user, one waits at the endpoint.
 */
async function follow(
  latest: () => Endpoint,
  path: string,
  signal: AbortSignal,
  retryMs: number,
): Promise<void> {
  let user: string | null = null;
  const onAnswer = ({ headers }: Response): void => void (user = headers.get('x-isoloop-user'));
  const { ask } = routesOf(path, () => latest().options, onAnswer);
  const channel = channelOf(path);
  signal.addEventListener('abort', () => channel.close());
  let position = '';
  /** Looks until the page is hidden, or until it fails. */
  const look = async (visible: AbortSignal): Promise<void> => {
    const lock = `${channel.name}:${user}:changes`;
    let release: (() => void) | undefined;
    if (user !== null) release = await takeLock(lock, { signal: visible });
    try {
      while (!visible.aborted) {
        const isKnown: boolean = user !== null;
        const limits = { signal: visible, waitMs: changesWaitMs };
        const answer = await ask(`${path}/changes?after=${position}`, limits);
        if (answer.status !== 204) {
          ({ position } = (await answer.json()) as { readonly position: string });
          if (!visible.aborted) channel.postMessage('changed');
        }
        // The next request waits for the lock of the user's tabs.
        if (!isKnown && user !== null) return;
      }
    } catch {
      release?.();
      if (visible.aborted) return;
      await sleepFor(retryMs, visible);
      if (!visible.aborted) channel.postMessage('changed');
    } finally {
      release?.();
    }
  };
  while (!signal.aborted) {
    await untilVisible(signal);
    const visible = visibleSignal(signal);
    await look(visible.signal);
    visible.abort();
  }
}
