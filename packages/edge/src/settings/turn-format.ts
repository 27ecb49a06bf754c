import type { AgentStream, Awaitable, EventBatch, Memory, Msg, ReActAgent } from '@isoloop/core';
import type { NewTurn } from '../queue/turn-queue.ts';
import type { RequestVariables } from './handler-options.ts';
import type { ApiCall } from './openai-part.ts';

/** How a client gets a turn: its stream or its whole answer, and its errors. */
export interface TurnFormat {
  /** Name of the format. */
  readonly kind: string;
  /** Format of the errors of a response that has not begun. */
  readonly errorFormat: RequestVariables['errorFormat'];
  /**
   * Returns whether the response can start with this batch of events. Before the start, the
   * response's status can still report a refusal.
   */
  readonly opens: (batch: EventBatch) => boolean;
  /**
   * Streams whose chunks have an id for `Last-Event-ID`. `queued`: those of turns that a further
   * request can join. Default: none.
   */
  readonly eventIds?: 'all' | 'queued';
  /** Creates an encoder for a stream. Without a turn, the stream has only an error. */
  readonly encoder: (
    live: LiveTurn | undefined,
    options: TurnEncoderOptions,
  ) => Awaitable<EncodeBatch>;
  /** Returns the response with the answer of a turn that has ended. Absent for a stream. */
  readonly wholeAnswer?: (
    live: LiveTurn,
    headers: Readonly<Record<string, string>>,
  ) => Promise<Response>;
}

export interface TurnEncoderOptions {
  /** Memory whose echo the client gets. Set for a turn that runs within its request. */
  readonly memory?: Memory | undefined;
  /** Whether the client gets the answer from its beginning, although it did not start the turn. */
  readonly isWhole?: boolean;
}

/** Turn that has begun. Any number of clients can read its events. */
export interface LiveTurn {
  readonly turn: NewTurn;
  readonly agent: ReActAgent;
  /**
   * Detached stream of the run. The run continues without readers, and the stream keeps all its
   * events.
   */
  readonly stream: AgentStream;
  /** Settings of the answer. Set if a client of OpenAI asked for the turn. */
  readonly call?: ApiCall | undefined;
  /** Messages of the answer that were stored before this run resumed the turn. */
  readonly earlierMessages: readonly Msg[];
}

/**
 * Converts a batch of events to what the client gets. Texts are sent as they are, and objects as
 * server-sent events. For an empty list, nothing is sent.
 */
export type EncodeBatch = (batch: EventBatch) => readonly (object | string)[];
