import type { ConnectOptions } from '../../page/connect-agent.ts';
import type { StoredSessions } from './agent-sessions.ts';
import type { AnswerSource } from '../chat/chat.ts';
import type { HeldPlace } from '../queue/held-place.ts';
import type { QueuedMessage } from '../queue/queued-message.ts';
import type { UIMessage } from '../chat/ui-message.ts';

/** Options of a link to an agent. Only workers use the fields besides `sessionId`. */
export type LinkOptions = ConnectOptions;

/** Connection of a chat to its agent. A worker and an endpoint have the same interface. */
export interface AgentLink extends AnswerSource {
  /** Whether a turn continues without this page. If so, closing the link does not end the turn. */
  readonly outlivesPage: boolean;
  /**
   * Key of the conversation and the person, under which the page keeps what it has sent over a
   * reload. Absent for a worker, which has each message at once.
   */
  readonly pageKey?: string;
  /** Where the page keeps messages until it can send them. */
  readonly heldPlace: HeldPlace;
  /** Returns the messages that waited at the endpoint when `history()` was last read. */
  readonly queuedMessages?: readonly QueuedMessage[];
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

/** Endpoint with an agent, from `agentEndpoint()`. */
export interface AgentEndpoint {
  /** Address of the chat route. */
  readonly api: string;
  /**
   * Links a chat to another kind of agent. `latest` returns the endpoint whose options a request
   * uses. Default: to an endpoint of `@isoloop/edge`.
   */
  link?(options: LinkOptions, latest: () => AgentEndpoint): AgentLink;
}

/** Where the agent of a chat runs: a worker, or the result of `agentEndpoint()`. */
export type AgentSource = Worker | SharedWorker | AgentEndpoint;

export function isEndpoint(source: AgentSource | undefined): source is AgentEndpoint {
  return source !== undefined && 'api' in source;
}
