import { AgentError } from '../error/agent-error.ts';
import type { Decision } from '../event/pending-call.ts';
import type { Memory } from '../memory/memory.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatTurnRequest } from './chat-turn.ts';
import { noDecisionError } from './client-decisions.ts';
import { storedView } from './last-run.ts';

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

/**
 * Returns whether the turn has a new message. Such a turn does not run while tool calls of the page
 * are open.
 */
export function bringsMessage({ kind }: TurnRequest): boolean {
  return kind === 'message' || kind === 'messages';
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

/**
 * Returns whether the turn replaces nothing in the log. Its messages are then new, and no earlier
 * run or tool call is open. Returns false for a memory without a log.
 */
export async function onlyAdds(request: TurnRequest, memory: Memory): Promise<boolean> {
  const newIds = newMessageIds(request);
  if (!newIds.length || 'afterInputId' in request) return false;
  try {
    const view = await storedView(memory);
    if (!view) return false;
    const { messages, openRunId, calls } = view;
    return (
      openRunId === undefined && !calls.size && !messages.some(({ id }) => newIds.includes(id))
    );
  } catch {
    // The turn itself reports that the log cannot be read.
    return false;
  }
}
