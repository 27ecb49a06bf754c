import { AgentError, toolResultsOf, toolUsesOf } from '@isoloop/core';
import type { Decision, Memory, Msg, ReActAgent } from '@isoloop/core';
import { metadataOf, isQuestion, resumptionOf } from '@isoloop/core/adapter';
import { lastRun, waitingCalls } from '../turn/chat-turn.ts';
import { runsHere } from '../turn/decisions.ts';
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

/**
 * Opens tool calls of the client again if the turn that brought their results failed. The client
 * then sends the results again. Does nothing if the turn has an answer.
 */
export async function reopenCalls(
  { memory, tools }: Pick<ReActAgent, 'memory' | 'tools'>,
  decisions: readonly Decision[],
): Promise<void> {
  const ids = new Set(decisions.map(({ toolUseId }) => toolUseId));
  const stored = await memory.read();
  const at = stored.findLastIndex((message) => toolUsesOf(message).some(({ id }) => ids.has(id)));
  const later = stored.slice(at + 1);
  const isOfTurn = (message: Msg): boolean =>
    message.role !== 'tool' || toolResultsOf(message).some(({ toolUseId }) => ids.has(toolUseId));
  const first = later.findIndex(isOfTurn);
  if (at < 0 || first < 0 || later.some(isQuestion) || (await hasAnswer(memory, later))) return;
  const calls = toolUsesOf(stored[at]!).filter(({ id }) => ids.has(id));
  if (calls.length < ids.size || calls.some(({ name }) => runsHere(tools.find(name)))) return;
  await memory.delete(
    later.filter((message, index) => index >= first && isOfTurn(message)).map(({ id }) => id),
  );
  const pending = calls.map(({ id: toolUseId, name, input }) => ({
    pending: { toolUseId, name, input, kind: 'external' } as const,
  }));
  await memory.note?.([{ kind: 'suspended', calls: pending }]);
}

/**
 * Returns whether a client may have the answer to one of these messages, or gets it later because
 * a run has not ended.
 */
async function hasAnswer(memory: Memory, messages: readonly Msg[]): Promise<boolean> {
  const { openRun, ended } = await lastRun(memory);
  if (openRun !== undefined && ended === undefined) return true;
  const waiting = (await waitingCalls(memory)).filter(({ kind }) => kind === 'external');
  const ids = new Set(waiting.map(({ toolUseId }) => toolUseId));
  if (messages.flatMap(toolUsesOf).some(({ id }) => ids.has(id))) return true;
  return turnsOf(messages).some(
    (turn) => resumptionOf({ messages: turn, openRun: undefined }).type === 'nothing',
  );
}

/** Splits messages into lists that begin with a question. */
function turnsOf(messages: readonly Msg[]): readonly (readonly Msg[])[] {
  const starts = messages.flatMap((message, index) =>
    index === 0 || isQuestion(message) ? [index] : [],
  );
  return starts.map((start, index) => messages.slice(start, starts[index + 1]));
}

export function unknownResponse(): AgentError {
  const param = 'previous_response_id';
  return new AgentError(
    'NOT_FOUND',
    `\`${param}\` names no stored response. Create the response with \`store: true\`.`,
    { details: { param } },
  );
}
