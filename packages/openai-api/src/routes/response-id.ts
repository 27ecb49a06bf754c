import { AgentError, toolResultsOf, type Memory, type Msg } from '@isoloop/core';
import { hasAnswer, type ContinuePoint, type TurnRequest } from '@isoloop/core/host';
import { isQuestion, metadataOf } from '@isoloop/core/message';
import { checkSessionId, hasOutput, type LiveTurn } from '@isoloop/edge/api';
import type { OpenAiFormat } from '../request/completion-answer.ts';

/**
 * Returns the id that identifies a turn's input in the session's log. For messages, this is the id
 * of the last message. For decisions, it is the id of the first decided tool call.
 */
function inputIdOf(request: TurnRequest): string {
  if (request.kind === 'messages') return request.messages.at(-1)?.id ?? '';
  return request.kind === 'decide' ? (request.decisions[0]?.toolUseId ?? '') : '';
}

/** Returns whether a message is the input of a turn, or contains it. */
function isInput(message: Msg, inputId: string): boolean {
  return (
    message.id === inputId || toolResultsOf(message).some(({ toolUseId }) => toolUseId === inputId)
  );
}

/**
 * Goes back to the point from which a turn continues: removes later turns from the log if all of
 * them failed. Throws `NOT_FOUND` if the log does not have the input that the turn names.
 * Throws `SESSION_CONFLICT` if a later turn has an answer or is still running.
 */
export async function goBackTo(memory: Memory, { afterInputId }: ContinuePoint): Promise<void> {
  if (afterInputId === undefined) return;
  const storedMessages = await memory.read();
  const index = storedMessages.findLastIndex((message) => isInput(message, afterInputId));
  if (index < 0) throw unknownResponseError();
  // A run adds its id to its input, and to messages that it received while it ran.
  const { runId } = metadataOf(storedMessages[index]!);
  const isLater = (message: Msg, at: number): boolean =>
    at > index &&
    isQuestion(message) &&
    (runId === undefined || metadataOf(message).runId !== runId);
  const laterIndex = storedMessages.findIndex(isLater);
  if (laterIndex < 0) return;
  const laterMessages = storedMessages.slice(laterIndex);
  if (await hasAnswer(memory, laterMessages))
    throw new AgentError(
      'SESSION_CONFLICT',
      '`previous_response_id` is not the last response of its conversation.',
      { details: { param: 'previous_response_id' } },
    );
  await memory.delete(laterMessages.map(({ id }) => id));
}

export function unknownResponseError(): AgentError {
  const param = 'previous_response_id';
  return new AgentError(
    'NOT_FOUND',
    `\`${param}\` names no stored response. Create the response with \`store: true\`.`,
    { details: { param } },
  );
}

/** Session that a request names, and the point from which its turn continues. */
export interface SessionPoint extends ContinuePoint {
  readonly sessionId: string;
}

/**
 * Returns the id of a response that is stored in a session. A later request names it as
 * `previous_response_id`.
 */
export function responseId(sessionId: string, request: TurnRequest): string {
  return idOf(sessionId, inputIdOf(request));
}

/** `rest`: texts that make the id unique. */
function idOf(sessionId: string, inputId: string, ...rest: readonly string[]): string {
  const text = btoa(JSON.stringify([sessionId, inputId, ...rest]));
  return `resp_${text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

/** Reads the id of a stored response. Throws `NOT_FOUND` for any other id. */
export function readResponseId(id: string): SessionPoint {
  const point = /^resp_[\w-]+$/.test(id) ? decodeId(id.slice(5)) : undefined;
  if (!Array.isArray(point) || point.length < 2) throw unknownResponseError();
  const [sessionId, afterInputId] = point as readonly unknown[];
  if (typeof afterInputId !== 'string' || !afterInputId) throw unknownResponseError();
  return { sessionId: checkSessionId(sessionId), afterInputId };
}

/**
 * Returns the format for an answer of the given turn. The answer that a repeated request gets
 * belongs to an earlier turn, and has the id of that turn's response. If the log does not have the
 * turn's input, for example because a guard rejected it, the id names the point before the turn.
 * Waits until the answer begins or ends, because the log has the turn's input only then.
 */
export async function formatOfTurn(
  { turn: { request }, stream, agent }: LiveTurn,
  format: OpenAiFormat,
): Promise<OpenAiFormat> {
  if (format.kind !== 'response') return format;
  try {
    for await (const batch of stream.batches()) if (hasOutput(batch)) break;
  } catch {
    // The answer reports the failure.
  }
  const { sessionId } = readResponseId(format.response.id);
  const inputId = inputIdOf(request);
  const previousInputId = 'afterInputId' in request ? request.afterInputId : undefined;
  const isStored =
    previousInputId === undefined ||
    (await agent.memory.read()).some((message) => isInput(message, inputId));
  const id = isStored
    ? idOf(sessionId, inputId)
    : idOf(sessionId, previousInputId, crypto.randomUUID());
  return { ...format, response: { ...format.response, id } };
}

function decodeId(text: string): unknown {
  try {
    return JSON.parse(atob(text.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    return undefined;
  }
}
