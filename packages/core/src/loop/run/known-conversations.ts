import type { Msg } from '../../message/msg.ts';
import { Conversation } from './conversation.ts';

/**
 * Conversations of ended runs, by their last message. A memory that drops its messages thus also
 * drops the conversation.
 */
const known: WeakMap<Msg, Conversation> = new WeakMap();

/**
 * Returns a conversation with these messages: the one that an earlier run left, or a new one. Only
 * one run can have it, because runs change it.
 */
export function openConversation(messages: readonly Msg[]): Conversation {
  const last = messages.at(-1);
  const conversation = (last && known.get(last)) ?? new Conversation();
  if (last) known.delete(last);
  conversation.load(messages);
  return conversation;
}

/** Keeps the conversation for the next run, also of another agent with the same memory. */
export function keepConversation(conversation: Conversation): void {
  const last = conversation.messages.at(-1);
  if (last) known.set(last, conversation);
}
