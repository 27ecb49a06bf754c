import { AgentError, toolResultsOf } from '@isoloop/core';
import type { Memory, Msg } from '@isoloop/core';
import { metadataOf, isQuestion } from '@isoloop/core/adapter';
import { hasAnswer } from './reopened-calls.ts';
import type { Place, SessionTurn } from './session-turn.ts';

/**
 * Returns the id that identifies a turn's input in the session's log. For messages, this is the id
 * of the last message. For decisions, it is the id of the first decided tool call.
 */
export function inputOf(turn: SessionTurn): string {
  if (turn.kind === 'messages') return turn.messages.at(-1)?.id ?? '';
  return turn.kind === 'decide' ? (turn.decisions[0]?.toolUseId ?? '') : '';
}

/** Returns whether a message is the input of a turn, or contains it. */
export function isInput(message: Msg, input: string): boolean {
  return (
    message.id === input || toolResultsOf(message).some(({ toolUseId }) => toolUseId === input)
  );
}

/**
 * Moves the session to the place from which a turn continues: removes later turns from the log if
 * all of them failed. Throws `NOT_FOUND` if the log does not have the input that the turn names.
 * Throws `SESSION_CONFLICT` if a later turn has an answer or is still running.
 */
export async function goToPlace(memory: Memory, { after }: Place): Promise<void> {
  if (after === undefined) return;
  const stored = await memory.read();
  const place = stored.findLastIndex((message) => isInput(message, after));
  if (place < 0) throw unknownResponse();
  // A run adds its id to its input, and to messages that it received while it ran.
  const { runId } = metadataOf(stored[place]!);
  const isLater = (message: Msg, index: number): boolean =>
    index > place &&
    isQuestion(message) &&
    (runId === undefined || metadataOf(message).runId !== runId);
  const next = stored.findIndex(isLater);
  if (next < 0) return;
  const later = stored.slice(next);
  if (await hasAnswer(memory, later))
    throw new AgentError(
      'SESSION_CONFLICT',
      '`previous_response_id` is not the last response of its conversation.',
      { details: { param: 'previous_response_id' } },
    );
  await memory.delete(later.map(({ id }) => id));
}

export function unknownResponse(): AgentError {
  const param = 'previous_response_id';
  return new AgentError(
    'NOT_FOUND',
    `\`${param}\` names no stored response. Create the response with \`store: true\`.`,
    { details: { param } },
  );
}
