import type { LogRecord } from '@isoloop/core/log';
import type { InspectedEvent } from '../steps/event-runs.ts';
import type { ForkDraft } from '../steps/fork-draft.ts';

/** A stored conversation in the inspector's list. Times are in milliseconds since 1970. */
export interface InspectorSession {
  readonly sessionId: string;
  readonly title?: string | undefined;
  readonly updatedAt: number;
}

/**
 * Where an inspector reads an agent's conversations and events. `workerSource()` and
 * `endpointSource()` are sources. Write your own for an agent elsewhere.
 */
export interface InspectorSource {
  /** Returns the stored conversations, the most recently changed first. */
  sessions(): Promise<readonly InspectorSession[]>;
  /** Returns the records of a conversation's log in the order in which they were written. */
  records(sessionId: string): Promise<readonly LogRecord[]>;
  /**
   * Streams the events of a conversation's runs, from the start of the current run. Ends when the
   * signal aborts. Entries of a timeline, without prompts, are events, too.
   */
  events(sessionId: string, signal: AbortSignal): AsyncIterable<readonly InspectedEvent[]>;
  /**
   * Stores a new conversation and lets its agent continue it. Returns the id of the conversation.
   * Without `fork`, the inspector has no forms for it.
   */
  fork?(draft: ForkDraft): Promise<string>;
  /** Ends what the source has opened. Called when another source or no page needs it. */
  close?(): void;
}
