import type { EventBatch } from '../event/agent-event.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { UiChunk } from '../stream/ui/ui-chunk.ts';
import type { UIMessage } from '../stream/ui/ui-message.ts';

/** Fields for one request. Only an endpoint gets them. */
export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>> | Headers | undefined;
  readonly body?: object | undefined;
}

/** Messages that a page sends, and what it wants in return. */
export interface AnswerRequest extends RequestOptions {
  readonly trigger: 'submit-message' | 'regenerate-message';
  readonly messages: readonly UIMessage[];
  /** Id of the message that the request is about, if it is not the last one. */
  readonly messageId?: string | undefined;
}

/** Batches of an answer's chunks, whose tool parts have types. A page shows each batch at once. */
export interface AnswerBatches extends AsyncIterable<readonly UiChunk[]> {
  /** Answer that the chunks continue, if another tab has asked to continue it. */
  readonly continued?: UIMessage | undefined;
}

/** Message that was sent and is not in the conversation yet. */
export interface QueuedMessage {
  readonly id: string;
  readonly message: UIMessage;
  /**
   * `waiting`: it waits for the end of an answer, or for the result of a tool call. `failed`: its
   * turn failed before the agent had the message.
   */
  readonly state: 'waiting' | 'failed';
  /** Why the turn failed. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** Stored conversation. Times are in milliseconds since 1970. */
export interface AgentSessionEntry {
  readonly sessionId: string;
  readonly title?: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Stored conversations of a worker or an endpoint. */
export interface StoredSessions {
  list(): Promise<readonly AgentSessionEntry[]>;
  rename(sessionId: string, title: string): Promise<unknown>;
  delete(sessionId: string): Promise<unknown>;
  /** Returns a conversation as JSON. In the hook, `undefined` after a failure. */
  export(sessionId: string): Promise<object | undefined>;
}

/** Connection of a page's chat to its agent. A worker and an endpoint have the same interface. */
export interface AgentLink {
  /** Whether a turn continues without this page. If so, closing the link does not end the turn. */
  readonly outlivesPage: boolean;
  /**
   * Key of the conversation and the person, under which the page keeps what it has sent over a
   * reload. Absent for a worker, which has each message at once.
   */
  readonly pageKey?: string;
  /**
   * Where the page keeps messages until it can send them. `localStorage` if other tabs may send
   * them, too. `key`: name of the conversation.
   */
  readonly queuePlace: {
    readonly storage: 'localStorage' | 'sessionStorage';
    readonly key: string;
  };
  /** Returns the messages that waited at the endpoint when `history()` was last read. */
  readonly queuedMessages?: readonly QueuedMessage[];
  /** Sends the messages and returns the answer. */
  send(request: AnswerRequest, signal: AbortSignal): Promise<AnswerBatches>;
  /** Returns the running answer from its start, or `undefined` if there is none. */
  reconnect(signal: AbortSignal): Promise<AnswerBatches | undefined>;
  /** Takes back a message that waits at the endpoint. */
  withdraw?(id: string): Promise<void>;
  /** Returns the stored conversations. */
  sessions(): Promise<StoredSessions>;
  /**
   * Reads all messages of the conversation. Makes no request if `shownMessages` has all messages
   * before the answer of another tab that `reconnect()` has returned.
   */
  history(shownMessages?: readonly UIMessage[]): Promise<readonly UIMessage[]>;
  /**
   * Calls `listener` when another page may have changed the conversation. If a run has begun, the
   * listener gets the id of the run, which may be a run of this page. `isNews`: returns whether the
   * chat still lacks the change. Calls `onDeleted` when somebody has deleted the conversation, or
   * another person has logged in. `close()` ends this.
   */
  watch(listener: (runId?: string, isNews?: () => boolean) => void, onDeleted: () => void): void;
  /**
   * Stops the turn where it runs, unless the signal aborts first. Returns whether the stream then
   * ends by itself. If not, the end of the reading ends the turn. Rejects if the turn goes on.
   */
  stop(signal: AbortSignal): Promise<boolean>;
  close(): void;
}

/** One request for an object, for which no chat is shown. */
export interface ObjectRun {
  readonly sessionId: string;
  /** Name of an output of the agent. Default: the agent itself has an output mode. */
  readonly output?: string | undefined;
  readonly input: string | undefined;
  readonly signal: AbortSignal;
  /** Whether to delete the conversation afterwards. */
  readonly isTemporary: boolean;
}

/**
 * Agent that a page reaches without HTTP, for example in a worker. Hooks of a page connect to it.
 */
export interface LinkedAgent<Source = unknown> {
  /**
   * What the agent lives in, such as a worker. The components of one place share their chats.
   * Absent on a server, where no agent lives.
   */
  readonly place: object | undefined;
  /** Name of the agent at its place. */
  readonly name?: string | undefined;
  /** Options of each connection. If their JSON changes, a chat connects again. */
  readonly options?: unknown;
  /** Connects a chat. Throws `CONFIGURATION` without a place. */
  link(sessionId: string): AgentLink;
  /** Runs the agent once. Yields its events. */
  run(request: ObjectRun): AsyncGenerator<EventBatch, AgentResult>;
  /** Type marker, never set. A method, so that an agent without types fits each type. */
  '~source'?(source: Source): void;
}
