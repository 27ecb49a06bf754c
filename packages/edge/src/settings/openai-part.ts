import type { AgentError, CallOptions, Memory, ReActAgent } from '@isoloop/core';
import type { TurnRequest } from '@isoloop/core/host';
import type { EndpointPart } from './endpoint-part.ts';
import type { HandlerSettings } from './handler-options.ts';
import type { TurnFormat } from './turn-format.ts';

/** OpenAI's API at `/v1`, for the option `openai` of `createAgentHandler`. */
export interface OpenAiRoutes extends EndpointPart {
  /** Reads the settings for an answer from the fields that a queued turn stores. */
  readonly readCall: (
    fields: Readonly<Record<string, unknown>>,
    settings: HandlerSettings,
  ) => ApiCall;
  /** Returns how a client that asked for this format gets a turn. */
  readonly format: (requested: ApiFormat) => TurnFormat;
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
