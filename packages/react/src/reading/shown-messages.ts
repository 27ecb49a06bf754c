import type { AgentError } from '@isoloop/core';
import {
  isToolUIPart,
  type UiChunk,
  type UIMessage,
  type UIMessagePart,
} from '@isoloop/core/stream';
import { AnswerReader } from './answer-reader.ts';
import { isOpen, withChangedCall, type CallPart } from './call-parts.ts';
import { isEqual } from './is-equal.ts';

/** The messages of a conversation, as a page shows them. No function changes its arguments. */
type Messages = readonly UIMessage[];

/**
 * Returns the next messages. Messages and parts that are equal to the shown ones stay the same
 * objects, so that React knows them.
 */
export function keepEqual(messages: Messages, shownMessages: Messages): Messages {
  const shownById = new Map(shownMessages.map((message) => [message.id, message]));
  const nextMessages = messages.map((message) =>
    keepEqualParts(message, shownById.get(message.id)),
  );
  return isEqual(nextMessages, shownMessages) ? shownMessages : nextMessages;
}

function keepEqualParts(message: UIMessage, shown: UIMessage | undefined): UIMessage {
  if (!shown || message === shown) return message;
  const parts = message.parts.map((part, at) =>
    isEqual(part, shown.parts[at]) ? shown.parts[at]! : part,
  );
  const mergedMessage = { ...message, parts };
  return isEqual(mergedMessage, shown) ? shown : mergedMessage;
}

/** Returns the messages with one in place of that with the same id. Adds it if there is none. */
export function withMessage(messages: Messages, message: UIMessage): Messages {
  const index = messages.findLastIndex(({ id }) => id === message.id);
  return index < 0 ? [...messages, message] : messages.with(index, message);
}

/** Returns whether the messages have a tool call, in its state. */
export function hasCall(messages: Messages, { toolCallId, state }: CallPart): boolean {
  return messages.some(({ parts }) =>
    parts.some(
      (part) => isToolUIPart(part) && part.toolCallId === toolCallId && part.state === state,
    ),
  );
}

/** Returns the messages with these decisions and results, for calls that still wait for them. */
export function withCalls(messages: Messages, calls: readonly CallPart[]): Messages {
  if (!calls.length) return messages;
  return messages.map((message) =>
    withChangedCall(message, (part) =>
      calls.findLast((call) => call.toolCallId === part.toolCallId && isNext(call, part)),
    ),
  );
}

/** A new approval request needs a decision of its own. */
function isNext(call: CallPart, earlier: CallPart): boolean {
  if (!isOpen(call)) return isOpen(earlier);
  return earlier.state === 'approval-requested' && earlier.approval.id === call.approval?.id;
}

/**
 * Returns the messages after a chunk about an open call of an earlier answer than `answerId`. For
 * example, a new message denies the call. Returns `undefined` for all other chunks.
 */
export function withEarlierCall(
  messages: Messages,
  chunk: UiChunk,
  answerId: string,
): Messages | undefined {
  const id = 'approvalId' in chunk ? chunk.approvalId : Object(chunk).toolCallId;
  if (id === undefined || chunk.type === 'tool-input-start') return undefined;
  const isSought = (part: UIMessagePart): boolean =>
    isToolUIPart(part) && part.toolCallId === id && isOpen(part);
  const message = messages.findLast(({ parts }) => parts.some(isSought));
  if (!message || message.id === answerId) return undefined;
  // The call is shown already.
  if (chunk.type === 'tool-input-available') return messages;
  const reader = new AnswerReader(message);
  reader.take(chunk);
  return withMessage(messages, reader.message);
}

/**
 * Returns the messages with the error of the last one, if that is a question which got an error in
 * place of an answer.
 */
export function withRefusal(messages: Messages, error: Error): Messages {
  const question = messages.at(-1);
  // After a lost connection, the chat tries to read the answer on.
  if (question?.role !== 'user' || error instanceof TypeError) return messages;
  const { code, message } = error as Partial<AgentError>;
  const metadata = { ...(question.metadata as object), error: { code, message } };
  return [...messages.slice(0, -1), { ...question, metadata }];
}

/** Returns the messages up to the last question. The stream repeats the answer from its start. */
export function upToQuestion(messages: Messages): Messages {
  return messages.slice(0, messages.findLastIndex(({ role }) => role === 'user') + 1);
}
