import { checkId } from '@isoloop/core/options';
import type { AgentLink } from '@isoloop/core/host';
import { AgentChat, type AgentChatOptions } from './agent-chat.ts';
import type { LatestHandlers } from './chat-components.ts';
import { checkedAgent, isEndpoint, type AgentSource } from '../source/agent-source.ts';
import type { Endpoint } from '../source/endpoint-agent.ts';
import { linkEndpoint } from '../source/endpoint-link.ts';

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
export function openChat(source: AgentSource | undefined, options: OpenChatOptions): OpenChat {
  const { sessionId, user } = options;
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
  const chat = new OpenChat(source, options, { chats, key });
  chats?.set(key, chat);
  return chat;
}

/** Where the page keeps a chat. `chats` is absent on a server. */
interface KeptPlace {
  readonly chats: Map<string, OpenChat> | undefined;
  readonly key: string;
}

/** A chat with the source that its next link uses, and the components that share it. */
export class OpenChat {
  readonly chat: AgentChat;
  #source: AgentSource | undefined;
  readonly #place: KeptPlace;
  readonly #readers: Set<LatestHandlers> = new Set();
  readonly #showing: Set<LatestHandlers> = new Set();
  /** Components that have shown the chat. React may hide a component and show it again. */
  readonly #formerReaders: WeakSet<LatestHandlers> = new WeakSet();
  #hasBeenShown = false;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    source: AgentSource | undefined,
    { sessionId, isNew, messages, user }: OpenChatOptions,
    place: KeptPlace,
  ) {
    this.#source = source;
    this.#place = place;
    const openLink = (): AgentLink =>
      linkOf(this.#source, sessionId, () => this.#source as Endpoint, user);
    this.chat = new AgentChat({ openLink, isNew, messages });
    this.#timer = place.chats && setTimeout(() => this.#dropUnread(), keptMs);
  }

  /** Replaces the source, whose options may change from render to render. */
  setSource(source: AgentSource | undefined): void {
    this.#source = source;
  }

  /**
   * Begins to show the chat in a component. Returns `undefined` if the chat is over: its components
   * have left, and this is another one. The returned function ends the showing.
   */
  show(reader: LatestHandlers): (() => void) | undefined {
    const { chats, key } = this.#place;
    const isOver =
      this.#hasBeenShown && this.#showing.size === 0 && !this.#formerReaders.has(reader);
    if (isOver) this.#drop();
    if (isOver || this.#isReplaced) return undefined;
    this.#hasBeenShown = true;
    this.#showing.add(reader);
    this.#formerReaders.add(reader);
    chats?.set(key, this);
    return () => void this.#showing.delete(reader);
  }

  /** Connects the chat for a component that shows it. The returned function leaves the chat. */
  enter(reader: LatestHandlers): (() => void) | undefined {
    if (this.#isReplaced || !this.#showing.has(reader)) return undefined;
    clearTimeout(this.#timer);
    this.#readers.add(reader);
    const leave = this.chat.enter(reader);
    return () => {
      this.#readers.delete(reader);
      this.#dropUnread();
      leave();
    };
  }

  /** Whether the page keeps another chat at the same place. */
  get #isReplaced(): boolean {
    const { chats, key } = this.#place;
    return (chats?.get(key) ?? this) !== this;
  }

  #dropUnread(): void {
    if (this.#readers.size === 0) this.#drop();
  }

  /** Lets the next component have another chat. */
  #drop(): void {
    const { chats, key } = this.#place;
    if (chats?.get(key) === this) chats.delete(key);
  }
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
