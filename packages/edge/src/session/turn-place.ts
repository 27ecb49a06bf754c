import { AgentError, toolResultsOf } from '@isoloop/core';
import type { Msg } from '@isoloop/core';
import { isQuestion } from '../turn/chat-turn.ts';
import type { Place, SessionTurn } from './session-turn.ts';

/**
 * Returns what identifies the input of a turn in the session's log: the id of its last message, or
 * the id of the first tool call that it decides. The value exists before the turn runs.
 */
export function inputOf(turn: SessionTurn): string {
  if (turn.kind === 'messages') return turn.messages.at(-1)?.id ?? '';
  return turn.kind === 'decide' ? (turn.decisions[0]?.toolUseId ?? '') : '';
}

/**
 * Checks that a turn continues from the last turn of the session. Throws `NOT_FOUND` if the log does
 * not contain the input of the turn that it names, and `SESSION_CONFLICT` if the user wrote other
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
