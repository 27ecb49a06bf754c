import { AgentError, toolResultsOf } from '@isoloop/core';
import type { Memory, Msg } from '@isoloop/core';
import { metadataOf, isQuestion } from '@isoloop/core/adapter';
import { hasAnswer } from './reopened-calls.ts';
import type { ContinuePoint, SessionTurnRequest } from './session-turn.ts';
import type { OpenAiFormat } from '../completions/completion-answer.ts';
import { hasOutput } from '../turn/event-stream.ts';
import { checkSession } from '../turn/session.ts';
import type { LiveTurn } from './live-turn.ts';

/**
 * Returns the id that identifies a turn's input in the session's log. For messages, this is the id
 * of the last message. For decisions, it is the id of the first decided tool call.
 */
export function inputOf(request: SessionTurnRequest): string {
  if (request.kind === 'messages') return request.messages.at(-1)?.id ?? '';
  return request.kind === 'decide' ? (request.decisions[0]?.toolUseId ?? '') : '';
}

/** Returns whether a message is the input of a turn, or contains it. */
export function isInput(message: Msg, input: string): boolean {
  return (
    message.id === input || toolResultsOf(message).some(({ toolUseId }) => toolUseId === input)
  );
}

/**
 * Goes back to the point from which a turn continues: removes later turns from the log if all of
 * them failed. Throws `NOT_FOUND` if the log does not have the input that the turn names.
 * Throws `SESSION_CONFLICT` if a later turn has an answer or is still running.
 */
export async function goBackTo(memory: Memory, { after }: ContinuePoint): Promise<void> {
  if (after === undefined) return;
  const storedMessages = await memory.read();
  const index = storedMessages.findLastIndex((message) => isInput(message, after));
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

/** What the id of a stored response names. */
export interface ResponseRef {
  readonly sessionId: string;
  /** `inputOf` the turn of the response. */
  readonly after: string;
}

/**
 * Returns the id of a response that is stored in a session. A later request names it as
 * `previous_response_id`.
 */
export function responseId(sessionId: string, request: SessionTurnRequest): string {
  return idOf(sessionId, inputOf(request));
}

/** `rest`: texts that make the id unique. */
function idOf(sessionId: string, messageId: string, ...rest: readonly string[]): string {
  const text = btoa(JSON.stringify([sessionId, messageId, ...rest]));
  return `resp_${text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

/** Reads the id of a stored response. Throws `NOT_FOUND` for any other id. */
export function readResponseId(id: string): ResponseRef {
  const ref = /^resp_[\w-]+$/.test(id) ? decode(id.slice(5)) : undefined;
  if (!Array.isArray(ref) || ref.length < 2) throw unknownResponseError();
  const [sessionId, messageId] = ref as readonly unknown[];
  if (typeof messageId !== 'string' || !messageId) throw unknownResponseError();
  return { sessionId: checkSession(sessionId), after: messageId };
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
  const input = inputOf(request);
  const previousInput = 'after' in request ? request.after : undefined;
  const isStored =
    previousInput === undefined ||
    (await agent.memory.read()).some((message) => isInput(message, input));
  const id = isStored
    ? idOf(sessionId, input)
    : idOf(sessionId, previousInput, crypto.randomUUID());
  return { ...format, response: { ...format.response, id } };
}

function decode(text: string): unknown {
  try {
    return JSON.parse(atob(text.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    return undefined;
  }
}
