import type {
  AgentError,
  AgentStream,
  CallOptions,
  EventBatch,
  Memory,
  Msg,
  ReActAgent,
} from '@isoloop/core';
import type { TurnRequest } from '@isoloop/core/host';
import type { NewTurn } from '../queue/turn-queue.ts';
import type { EndpointPart } from './endpoint-part.ts';
import type { HandlerSettings } from './handler-options.ts';

/** OpenAI's API at `/v1`, for the option `openai` of `createAgentHandler`. */
export interface OpenAiRoutes extends EndpointPart {
  /** Reads the settings for an answer from the fields that a queued turn stores. */
  readonly readCall: (
    fields: Readonly<Record<string, unknown>>,
    settings: HandlerSettings,
  ) => ApiCall;
  /** Returns the response with the answer of a turn that has ended. */
  readonly wholeResponse: (
    live: LiveTurn,
    format: ApiFormat,
    headers: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** Creates an encoder for a streamed answer. Without a turn, the stream has only an error. */
  readonly encoder: (live: LiveTurn | undefined, format: ApiFormat) => Promise<EncodeBatch>;
  /** Prepares a session for a turn, and returns the request for the agent. See `prepareTurn`. */
  readonly prepare: (
    memory: Memory,
    request: TurnRequest,
    settings: HandlerSettings,
  ) => Promise<TurnRequest>;
  /** Creates the error for a turn that continues from a response that is not stored. */
  readonly unknownResponseError: () => AgentError;
}

/** Settings for the answer to a request of chat completions or of the Responses API. */
export interface ApiCall {
  /** Options of the agent call. */
  readonly options: CallOptions;
  /**
   * Whether the text of the answer is sent as one piece. Text of an invalid attempt is then never
   * sent.
   */
  readonly sendsWholeText: boolean;
  /** Returns whether a tool of that name belongs to the client. */
  readonly isExternal: (name: string) => boolean;
  /** Throws `INVALID_INPUT` if one of the agent's tools has the name of a client's tool. */
  readonly check: (agent: ReActAgent) => void;
}

/** Format of an answer that an API of other clients has. Plain JSON with further fields. */
export interface ApiFormat {
  readonly kind: 'completion' | 'response';
  /** Whether the answer is streamed. */
  readonly stream: boolean;
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
