import { AgentError } from '../error/agent-error.ts';
import type { Decision } from '../event/pending-call.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatTurnRequest } from './chat-turn.ts';
import { noDecisionError } from './client-decisions.ts';

/**
 * Request for a turn of a session, as plain JSON. `useChat` sends a `ChatTurnRequest`. Other
 * clients send new messages, decide about pending tool calls, or continue from the stored log.
 */
export type TurnRequest =
  | ChatTurnRequest
  | (ContinuePoint & { readonly kind: 'messages'; readonly messages: readonly Msg[] })
  | (ContinuePoint & {
      readonly kind: 'decide';
      readonly decisions: readonly Decision[];
      /** Names of the request's fields with the decisions, for errors. */
      readonly params?: readonly string[];
    })
  | { readonly kind: 'continue' };

/** Point of a session from which a turn continues. */
export interface ContinuePoint {
  /**
   * Id of the input of the turn that must be the last one of the session. Default: the turn
   * continues from any state.
   */
  readonly afterInputId?: string;
}

/** Returns the messages that a client posted with its request. */
export function newMessages(request: TurnRequest): readonly Msg[] {
  if (request.kind === 'messages') return request.messages;
  return 'message' in request && request.message ? [request.message] : [];
}

/** Returns the ids of the messages that a client posted with its request. */
export function newMessageIds(request: TurnRequest): readonly string[] {
  return newMessages(request).map(({ id }) => id);
}

/** Throws if the first turn of a session has nothing to continue from. */
export function checkFirstTurn(request: TurnRequest): void {
  if (request.kind === 'continue')
    throw new AgentError('INVALID_INPUT', 'The session has nothing to continue.');
  if (request.kind === 'decide') throw noDecisionError(request.params?.[0]);
  if (request.kind === 'decisions') throw noDecisionError();
  if (request.kind === 'regenerate' && !request.message) throw noQuestionError();
}

/** Creates the error for a request to answer again in a conversation without a question. */
export function noQuestionError(): AgentError {
  return new AgentError('INVALID_INPUT', 'There is no message to answer again.');
}
