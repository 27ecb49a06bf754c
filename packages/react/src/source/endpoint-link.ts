import type {
  AgentLink,
  AnswerBatches,
  AnswerRequest,
  QueuedMessage,
  StoredSessions,
} from '@isoloop/core/host';
import { valueFor } from '@isoloop/core/endpoint';
import { latestMessages, typedMessages, type UIMessage } from '@isoloop/core/stream';
import type { Endpoint } from './endpoint-agent.ts';
import { answerBatches } from './endpoint-stream.ts';
import { channelOf, deletedMessage, routesOf, type EndpointRoutes } from './endpoint-routes.ts';
import { OfflineRequest } from './offline-request.ts';
import type { AnswerStart } from '../shared/followed-answer.ts';
import type { OpenedAnswer } from '../shared/shared-reading.ts';
import type { SharedAnswers } from '../shared/shared-answers.ts';
import { onReturn } from '../shared/page-life.ts';
import { noteUser } from './noted-user.ts';

/**
 * Links a chat to an endpoint. `latest` returns the endpoint whose options a request uses. `user`:
 * the app's id of the person.
 */
export function linkEndpoint(sessionId: string, latest: () => Endpoint, user?: string): AgentLink {
  return new EndpointLink(sessionId, latest, user);
}

class EndpointLink implements AgentLink {
  readonly outlivesPage = true;
  readonly pageKey: string;
  readonly queuePlace: AgentLink['queuePlace'];
  queuedMessages: readonly QueuedMessage[] = [];
  readonly #sessionId: string;
  readonly #latest: () => Endpoint;
  readonly #api: string;
  readonly #routes: EndpointRoutes;
  readonly #path: string;
  /** The endpoint does not announce a new turn. This channel tells the browser's other tabs. */
  readonly #otherTabs: BroadcastChannel;
  readonly #message = new OfflineRequest();
  readonly #closing = new AbortController();
  /** Absent until an answer names the user, because the tabs of two users share nothing. */
  #shared: SharedAnswers | undefined;
  /** Called when another tab begins to share an answer. */
  #onAnswer: () => void = () => {};
  /** Lets the chat look for changes when it is at rest. */
  #look: () => void = () => {};

  /** Called when the conversation is deleted, or what the page has is another person's. */
  #onDeleted: () => void = () => {};
  /** Digest of the id of the person whose messages the page has. */
  #user: string | undefined;
  /** The same of the person who has got the latest answer of the endpoint. */
  #latestUser: string | undefined;

  constructor(sessionId: string, latest: () => Endpoint, user: string | undefined) {
    this.#sessionId = sessionId;
    this.#latest = latest;
    this.#api = latest().api;
    this.#routes = routesOf(
      this.#api,
      () => latest().options,
      (answer) => this.#share(answer),
    );
    this.#path = this.#routes.pathOf(sessionId);
    this.#otherTabs = channelOf(this.#path);
    this.pageKey = JSON.stringify([this.#otherTabs.name, user]);
    // The endpoint has the conversations of several users, so only this tab keeps its messages.
    this.queuePlace = { storage: 'sessionStorage', key: this.pageKey };
  }

  async send(request: AnswerRequest, signal: AbortSignal): Promise<AnswerBatches> {
    const { messages, headers } = request;
    const common = await valueFor('body', this.#latest().options.body, 'INVALID_INPUT');
    const ownBody = bodyOf(this.#sessionId, request, common);
    // The browser may have another person's login by now. The endpoint then refuses the message.
    const body = { ...ownBody, userDigest: this.#user };
    const connection = connectionOf(signal);
    const sent = { method: 'POST', body, headers, signal: connection.signal };
    const answer = await this.#message.ask(() => this.#routes.ask(this.#api, sent), signal);
    this.#checkUser();
    const canRejoin = answer.headers.has('x-isoloop-rejoin');
    const onEnd = (isShared: boolean): void => this.#tell(isShared);
    if (!this.#shared) {
      onEnd(false);
      return answerBatches(answer, () => onEnd(false));
    }
    const batches = answerBatches(answer);
    const replaces = replacesOthers(request);
    return this.#shared.read({
      batches,
      signal,
      connection,
      canRejoin,
      messages,
      replaces,
      onEnd,
    });
  }

  async reconnect(signal: AbortSignal): Promise<AnswerBatches | undefined> {
    const open = async (): Promise<OpenedAnswer | undefined> => {
      const connection = connectionOf(signal);
      const url = `${this.#path}/stream?events=true&typed=true`;
      const answer = await this.#routes.ask(url, { signal: connection.signal });
      if (answer.status === 204) return undefined;
      return { batches: answerBatches(answer), signal, connection, canRejoin: true };
    };
    if (this.#shared) return this.#shared.connect(signal, open);
    if (document.hidden) return undefined;
    const opened = await open();
    // The answer may have named the user.
    const shared = this.#shared as SharedAnswers | undefined;
    return opened && shared ? shared.connect(signal, open, opened) : opened?.batches;
  }

  async sessions(): Promise<StoredSessions> {
    // Loaded at its first use, because most pages show only one conversation.
    const { endpointSessions } = await import('./endpoint-sessions.ts');
    return endpointSessions(this.#api, this.#routes, this.#shared?.channel);
  }

  async withdraw(id: string): Promise<void> {
    const url = `${this.#path}/queue/${encodeURIComponent(id)}`;
    await this.#routes.ask(url, { method: 'DELETE' });
    this.#tell(false);
  }

  async history(shownMessages?: readonly UIMessage[]): Promise<readonly UIMessage[]> {
    const channel = this.#shared?.channel;
    const start = shownMessages && channel?.shownStart;
    const sharedMessages = shownMessages && channel?.historyFrom(shownMessages);
    if (sharedMessages) {
      this.#checkUser();
      return sharedMessages;
    }
    const { messages, queued = [] } = await this.#routes.conversation(this.#sessionId);
    this.#checkUser();
    this.queuedMessages = queued;
    const history = typedMessages(messages) as readonly UIMessage[];
    this.#shared?.channel.reading?.begin(history);
    if (!start) return history;
    // Tabs have asked at the same time. After their answers, the endpoint knows the order.
    this.#look();
    return upTo(start, history);
  }

  watch(listener: (runId?: string, isNews?: () => boolean) => void, onDeleted: () => void): void {
    this.#onDeleted = onDeleted;
    this.#onAnswer = () => listener(undefined, () => this.#shared?.channel.hasUnread === true);
    this.#look = () => listener();
    const look = onReturn(this.#look, this.#closing.signal);
    this.#otherTabs.addEventListener('message', ({ data }) => {
      if (data === deletedMessage) onDeleted();
      // Tabs of this user have what was shared. All others look.
      else if (data !== this.#shared?.channel.name) look();
    });
  }

  async stop(signal: AbortSignal): Promise<boolean> {
    if (this.#message.isWaiting) return false;
    const isStopped = await this.#routes.interrupt(this.#sessionId, signal);
    // In KV, the end of the reading ends the turn, so no other tab reads on.
    if (!isStopped) this.#shared?.channel.reading?.end(false);
    this.#tell(true);
    return isStopped;
  }

  close(): void {
    this.#closing.abort();
    this.#shared?.channel.close();
    this.#otherTabs.close();
  }

  /** Tells the other tabs that something has changed. `isShared`: whether this user's tabs know. */
  #tell(isShared: boolean): void {
    this.#otherTabs.postMessage((isShared && this.#shared?.channel.name) || 'changed');
  }

  /** Drops what the page has of another person than the one who has got the latest answer. */
  #checkUser(): void {
    const user = this.#latestUser;
    if (user === undefined || user === this.#user) return;
    const notedUser = noteUser(this.pageKey, user);
    const earlierUser = this.#user ?? notedUser ?? user;
    this.#user = user;
    if (earlierUser !== user) this.#onDeleted();
  }

  /** Begins to share when an answer says who the user is. */
  async #share({ headers }: Response): Promise<void> {
    const user = headers.get('x-isoloop-user');
    this.#latestUser = user ?? undefined;
    const name = `${this.#otherTabs.name}:${user}`;
    const isKnown = (): boolean =>
      name === this.#shared?.channel.name || this.#closing.signal.aborted;
    if (user === null || isKnown() || !hasLocks()) return;
    // If the browser can't load this, the tab reads for itself.
    const module = await import('../shared/shared-answers.ts').catch(() => undefined);
    if (!module || isKnown()) return;
    this.#shared?.channel.close();
    this.#shared = new module.SharedAnswers(name, () => this.#onAnswer());
  }
}

/** Without Web Locks, no tab would notice that the reading tab is gone. */
function hasLocks(): boolean {
  return (navigator as { readonly locks?: LockManager }).locks !== undefined;
}

/** Returns the controller of a request. The request also ends with the signal. */
function connectionOf(signal: AbortSignal): AbortController {
  const connection = new AbortController();
  const end = (): void => connection.abort(signal.reason);
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  return connection;
}

/** Returns the messages up to the question of the answer, to which later ones do not belong. */
function upTo({ question }: AnswerStart, history: readonly UIMessage[]): readonly UIMessage[] {
  if (!question) return history;
  const index = history.findIndex(({ id }) => id === question.id);
  if (index >= 0) return history.slice(0, index + 1);
  return [...history, ...(typedMessages([question]) as readonly UIMessage[])];
}

/** Returns whether a request drops messages of the conversation. A decision only adds to one. */
function replacesOthers({ trigger, messages, messageId }: AnswerRequest): boolean {
  if (trigger === 'regenerate-message') return true;
  return messageId !== undefined && messages.at(-1)?.role === 'user';
}

/** Returns what the endpoint needs of a request. It has the other messages. */
function bodyOf(
  id: string,
  { trigger, messages, messageId, body }: AnswerRequest,
  common: object | undefined,
): object {
  const sentMessages = latestMessages(messages, messageId);
  return {
    events: true,
    typed: true,
    ...common,
    ...body,
    id,
    trigger,
    messageId,
    messages: sentMessages,
  };
}
