import { isCorrection, metadataOf } from '../metadata.ts';
import {
  hasToolResults,
  textOf,
  toolResultsOf,
  toolUsesOf,
  type Msg,
  type ToolResult,
} from '../msg.ts';

/**
 * Splits a conversation into turns. A turn is the input of an agent call and all messages that the
 * call adds. Each run marks its input with `metadata.runId`. Messages that are injected into a run
 * or added by a hook therefore belong to the run's turn. If the user repeats a question after a
 * failure, a new turn begins. Without the mark, a turn begins with a user's message that follows
 * messages of other roles. Messages added with `observe()` belong to the turn after them. Tool
 * results belong to the turn of their tool calls, even in a user's message.
 */
export function turnsOf(messages: readonly Msg[]): readonly (readonly Msg[])[] {
  const starts: number[] = messages.length ? [0] : [];
  let turnRunId: unknown;
  let isOpening = true;
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    const { runId } = metadataOf(message);
    if (hasToolResults(message)) {
      turnRunId = runId ?? turnRunId;
      isOpening = false;
    } else if (role === 'user') {
      // A correction asks the model for a better reply, so it belongs to the turn before it.
      const isSameTurn =
        isCorrection(message) || (turnRunId === undefined ? isOpening : runId === turnRunId);
      if (!isSameTurn) starts.push(index);
      turnRunId = runId;
      isOpening = true;
    } else if (role !== 'system') isOpening = false;
  }
  return starts.map((start, index) => messages.slice(start, starts[index + 1]));
}

/**
 * Returns whether a turn ended with an answer. Otherwise the turn failed, was aborted or
 * interrupted, stopped at a tool call, or is waiting.
 */
export function isAnswered(turn: readonly Msg[]): boolean {
  const answer = answerOf(turn);
  if (!answer) return false;
  const { partial, reason } = metadataOf(answer);
  return !partial && reason !== 'interrupted' && reason !== 'error';
}

/**
 * Returns the last reply of the turn if the reply has no tool call and was accepted as an answer.
 */
export function answerOf(turn: readonly Msg[]): Msg | undefined {
  const last = turn.findLast(({ role }) => role === 'assistant' || role === 'tool');
  const isAnswer = last?.role === 'assistant' && !toolUsesOf(last).length && !isCorrection(last);
  return isAnswer ? last : undefined;
}

/**
 * Returns the input of the current agent call and all messages after it. An agent call without
 * input continues the last turn, so it gets that turn.
 */
export function currentTurn(
  messages: readonly Msg[],
  questionId: string | undefined,
): readonly Msg[] {
  const turns = turnsOf(messages);
  return turns.slice(turns.findIndex((turn) => turn.some(({ id }) => id === questionId))).flat();
}

/** The newest reply with tool calls, the messages before it, and its results. */
interface NewestRound {
  readonly before: readonly Msg[];
  /** `undefined` if no reply has tool calls. */
  readonly reply: Msg | undefined;
  /** The results that its tool calls have so far. */
  readonly results: readonly ToolResult[];
}

/** Finds the newest reply with tool calls, also if a person has written after it. */
export function newestRound(messages: readonly Msg[]): NewestRound {
  const index = messages.findLastIndex((message) => toolUsesOf(message).length);
  const results = messages.slice(index + 1).flatMap(toolResultsOf);
  return { before: messages.slice(0, Math.max(index, 0)), reply: messages[index], results };
}

const maxTitleLength = 80;

/**
 * Returns whether the user wrote the message. Returns false for a correction, which the agent
 * writes with the role `user`.
 */
export function isQuestion(message: Msg): boolean {
  return message.role === 'user' && !isCorrection(message);
}

/**
 * Returns the beginning of the first user message, or an empty text. Uses a client's system message
 * only if there is no other user message.
 */
export function titleOf(messages: readonly Msg[]): string {
  const questions = messages.filter(isQuestion);
  // The library's messages and a client's system messages have an origin.
  const titleMessage =
    questions.find((message) => metadataOf(message).origin === undefined) ?? questions[0];
  const characters = [...(titleMessage ? textOf(titleMessage) : '').replace(/\s+/g, ' ').trim()];
  return characters.length > maxTitleLength
    ? `${characters.slice(0, maxTitleLength - 1).join('')}…`
    : characters.join('');
}
