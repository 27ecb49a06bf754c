import type { Msg } from '../../message/msg.ts';
import { Conversation } from './conversation.ts';

/**
 * Conversations of ended runs, by their last message. A memory that drops its messages thus also
 * drops the conversation.
 */
const known: WeakMap<Msg, Conversation> = new WeakMap();

/**
 * Returns the conversation of an earlier run that ended with these messages, or a new one. Only one
 * run can have it, because runs change it.
 */
export function takeConversation(messages: readonly Msg[]): Conversation {
  const last = messages.at(-1);
  const conversation = last && known.get(last);
  if (!conversation) return new Conversation();
  known.delete(last);
  return conversation;
}

/** Keeps the conversation for the next run, also of another agent with the same memory. */
export function keepConversation(conversation: Conversation): void {
  const last = conversation.messages.at(-1);
  if (last) known.set(last, conversation);
}
