import { fieldsOf } from '../error/agent-error.ts';
import type { Decision } from '../event/pending-call.ts';
import type { Msg } from '../message/msg.ts';
import { fromUiDecisions } from '../stream/ui/ui-decisions.ts';
import { checkDecisionSize, decisionSize } from './client-decisions.ts';
import {
  checkMessageId,
  fieldError,
  isMessageId,
  readMessages,
  readUserMessage,
} from './posted-fields.ts';

/**
 * Request of a client for a turn, as plain JSON.
 *
 * - `message`: a new message, or an edited earlier message. `decisions`: decisions in the last
 *   assistant message that the client may not have sent before.
 * - `regenerate`: a new answer to the posted message, or to the user message before the message
 *   with the id `messageId`. Without either, a new answer to the last stored user message.
 * - `decisions`: decisions about pending tool calls, with which the agent continues.
 */
export type ChatTurnRequest =
  | {
      readonly kind: 'message';
      readonly message: Msg;
      readonly decisions?: readonly Decision[];
    }
  | { readonly kind: 'regenerate'; readonly message?: Msg; readonly messageId?: string | undefined }
  | {
      readonly kind: 'decisions';
      readonly decisions: readonly Decision[];
      readonly messageId: string;
    };

/** The fields of AI SDK's `useChat` that say what a turn is about. Nobody has checked them. */
export interface PostedChat {
  readonly trigger?: unknown;
  readonly messages?: unknown;
  readonly messageId?: unknown;
}

/** How much a client may post. */
export interface ChatLimits {
  /** Maximum number of messages. */
  readonly messages: number;
  /** Maximum length of a decision, in characters. See `decisionSize`. */
  readonly toolResultChars: number;
}

/**
 * Reads the request that `useChat` posted. Uses only the last message. Decisions may also be in the
 * assistant message whose id is `messageId`. Throws `INVALID_INPUT` or `INVALID_MESSAGE` for an
 * invalid value, and `PAYLOAD_TOO_LARGE` if a value exceeds the limits.
 */
export function readChatTurn(posted: PostedChat, limits: ChatLimits): ChatTurnRequest {
  const { trigger } = posted;
  if (trigger !== undefined && trigger !== 'submit-message' && trigger !== 'regenerate-message')
    throw fieldError('trigger', 'must be "submit-message" or "regenerate-message"');
  const messageId = posted.messageId ?? undefined;
  if (messageId !== undefined && !isMessageId(messageId))
    throw fieldError('messageId', 'must be 1 to 128 visible characters');
  const messages = readMessages(posted, limits.messages);
  if (trigger === 'regenerate-message') {
    const lastQuestion = messages.findLast((message) => fieldsOf(message)['role'] === 'user');
    if (typeof fieldsOf(lastQuestion)['id'] === 'string')
      return { kind: 'regenerate', message: readUserMessage(lastQuestion) };
    return { kind: 'regenerate', messageId };
  }
  // After the assistant message there may be a user message that was refused because tool calls
  // were pending.
  const message = messages.findLast((each) => isAnswer(each, messageId)) ?? messages.at(-1);
  const decisions = fromUiDecisions(message);
  if (!decisions.length) {
    const question = readUserMessage(messages.at(-1));
    const earlierDecisions = decisionsBefore(messages, limits);
    return {
      kind: 'message',
      message: question,
      ...(earlierDecisions.length && { decisions: earlierDecisions }),
    };
  }
  const { id } = fieldsOf(message);
  checkMessageId(id);
  for (const decision of decisions) checkDecisionSize(decision, limits, () => 'messages');
  return { kind: 'decisions', decisions, messageId: id };
}

/** Returns the decisions in the last answer, which the host may not have. */
function decisionsBefore(messages: readonly unknown[], limits: ChatLimits): readonly Decision[] {
  // After a refused message, the client's list may have an assistant message without parts.
  const answer = messages.findLast((each) => {
    const { role, parts } = fieldsOf(each);
    return role === 'assistant' && Object(parts).length > 0;
  });
  // Most results belong to finished tool calls and may be long. `beginTurn()` later selects the
  // results of open tool calls.
  return fromUiDecisions(answer).filter(
    (decision) => decisionSize(decision) <= limits.toolResultChars,
  );
}

function isAnswer(message: unknown, messageId: string | undefined): boolean {
  const { role, id } = fieldsOf(message);
  return role === 'assistant' && id === messageId;
}
