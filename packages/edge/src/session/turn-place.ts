import { AgentError, toolResultsOf } from '@isoloop/core';
import type { Msg } from '@isoloop/core';
import { isQuestion } from '../turn/chat-turn.ts';
import type { Place, SessionTurn } from './session-turn.ts';

/**
 * Returns the id by which the session's log shows the input of a turn. It is the id of the last
 * message, or of the first tool call that the turn decides.
 */
export function inputOf(turn: SessionTurn): string {
  if (turn.kind === 'messages') return turn.messages.at(-1)?.id ?? '';
  return turn.kind === 'decide' ? (turn.decisions[0]?.toolUseId ?? '') : '';
}

/**
 * Checks that a turn continues from the last turn of the session. Throws `NOT_FOUND` if the log
 * does not have the input that the turn names. Throws `SESSION_CONFLICT` if the user wrote other
 * messages after that input.
 */
export function checkPlace({ after }: Place, stored: readonly Msg[]): void {
  if (after === undefined) return;
  const isPlace = (message: Msg): boolean =>
    message.id === after || toolResultsOf(message).some(({ toolUseId }) => toolUseId === after);
  const place = stored.findLast(isPlace);
  if (!place) throw unknownResponse();
  const later = stored.slice(stored.indexOf(place) + 1).filter(isQuestion);
  // A run adds its id to its input, and to messages that it received while it ran.
  const runId = place.metadata?.['runId'];
  if (later.every(({ metadata }) => runId !== undefined && metadata?.['runId'] === runId)) return;
  throw new AgentError(
    'SESSION_CONFLICT',
    '`previous_response_id` is not the last response of its conversation.',
    { details: { param: 'previous_response_id' } },
  );
}

export function unknownResponse(): AgentError {
  const param = 'previous_response_id';
  return new AgentError(
    'NOT_FOUND',
    `\`${param}\` names no stored response. Create the response with \`store: true\`.`,
    { details: { param } },
  );
}
