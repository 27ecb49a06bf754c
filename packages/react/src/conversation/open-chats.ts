import { checkId } from '@isoloop/core/options';
import type { AgentLink } from '@isoloop/core/host';
import { AgentChat, type AgentChatOptions } from './agent-chat.ts';
import type { LatestHandlers } from './chat-components.ts';
import { checkedAgent, isEndpoint, type AgentSource } from '../source/agent-source.ts';
import type { Endpoint } from '../source/endpoint-agent.ts';
import { linkEndpoint } from '../source/endpoint-link.ts';

/** A chat with the source that its next link uses. */
export interface OpenChat {
  readonly chat: AgentChat;
  source: AgentSource | undefined;
  /**
   * Begins to show the chat in a component. Returns `undefined` if the chat is over: its components
   * have left, and this is another one. The returned function ends the showing.
   */
  show(reader: LatestHandlers): (() => void) | undefined;
  /** Connects the chat for a component that shows it. The returned function leaves the chat. */
  enter(reader: LatestHandlers): (() => void) | undefined;
}

/** How a component gets its chat. */
export interface OpenChatOptions extends Pick<AgentChatOptions, 'isNew' | 'messages'> {
  readonly sessionId: string;
  /** Id of the person. */
  readonly user: string | undefined;
}

/**
 * Time until a chat is dropped that no component has shown, in milliseconds. A chat that components
 * have shown is dropped when the last one unmounts.
 */
export const keptMs = 10_000;

const chatsOfPlaces: WeakMap<object, Map<string, OpenChat>> = new WeakMap();
const chatsOfEndpoints: Map<string, OpenChat> = new Map();

/** Returns the number of chats with endpoints that the page keeps. */
export function openChatCount(): number {
  return chatsOfEndpoints.size;
}

/**
 * Returns the chat of a conversation. Components with the same source, session and person share it
 * while one of them is mounted. It survives renders that React throws away, for example while a
 * component suspends.
 */
export function openChat(
  source: AgentSource | undefined,
  { sessionId, isNew, messages, user }: OpenChatOptions,
): OpenChat {
  if (user !== undefined) checkId(user, 'user', 'CONFIGURATION');
  const chats = chatsOf(source);
  const place = isEndpoint(source) ? source.api : source?.name;
  const key = JSON.stringify([
    place ?? null,
    sessionId,
    user ?? null,
    user ?? authorizationOf(source),
  ]);
  const earlierChat = chats?.get(key);
  if (earlierChat) return earlierChat;
  const openLink = (): AgentLink =>
    linkOf(entry.source, sessionId, () => entry.source as Endpoint, user);
  const chat = new AgentChat({ openLink, isNew, messages });
  const readers = new Set<LatestHandlers>();
  const showing = new Set<LatestHandlers>();
  /** Components that have shown the chat. React may hide a component and show it again. */
  const formerReaders = new WeakSet<LatestHandlers>();
  let hasBeenShown = false;
  const drop = (): void => {
    if (readers.size === 0 && chats?.get(key) === entry) chats.delete(key);
  };
  const timer = chats && setTimeout(drop, keptMs);
  const entry: OpenChat = {
    chat,
    source,
    show(reader) {
      const isOver = hasBeenShown && showing.size === 0 && !formerReaders.has(reader);
      if (isOver && chats?.get(key) === entry) chats.delete(key);
      if (isOver || (chats?.get(key) ?? entry) !== entry) return undefined;
      hasBeenShown = true;
      showing.add(reader);
      formerReaders.add(reader);
      chats?.set(key, entry);
      return () => void showing.delete(reader);
    },
    enter(reader) {
      if ((chats?.get(key) ?? entry) !== entry || !showing.has(reader)) return undefined;
      clearTimeout(timer);
      readers.add(reader);
      const leave = chat.enter(reader);
      return () => {
        readers.delete(reader);
        drop();
        leave();
      };
    },
  };
  chats?.set(key, entry);
  return entry;
}

/** `latest` returns the endpoint whose options a request uses. `user`: id of the person. */
function linkOf(
  source: AgentSource | undefined,
  sessionId: string,
  latest: () => Endpoint,
  user: string | undefined,
): AgentLink {
  if (isEndpoint(source)) return linkEndpoint(sessionId, latest, user);
  return checkedAgent(source, 'useAgentChat()').link(sessionId);
}

/** Returns `undefined` on a server, which has no workers and must not keep its users' chats. */
function chatsOf(source: AgentSource | undefined): Map<string, OpenChat> | undefined {
  if (!source || typeof document === 'undefined') return undefined;
  if (isEndpoint(source)) return chatsOfEndpoints;
  const { place } = source;
  if (!place) return undefined;
  const chats = chatsOfPlaces.get(place) ?? new Map<string, OpenChat>();
  chatsOfPlaces.set(place, chats);
  return chats;
}

/** Returns the `authorization` header of an endpoint, unless a function returns the headers. */
function authorizationOf(source: AgentSource | undefined): string | null {
  const headers = isEndpoint(source) ? (source as Endpoint).options?.headers : undefined;
  return typeof headers === 'object' ? new Headers(headers).get('authorization') : null;
}
