import { isCorrection, metadataOf } from './metadata-keys.ts';
import { textOf } from './message-text.ts';
import type { Msg } from './msg.ts';

const maxTitle = 80;

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
  // The library's messages have `bypassHistory: true`, and a client's system messages have `false`.
  const first =
    questions.find((message) => metadataOf(message).bypassHistory === undefined) ?? questions[0];
  const characters = [...(first ? textOf(first) : '').replace(/\s+/g, ' ').trim()];
  return characters.length > maxTitle
    ? `${characters.slice(0, maxTitle - 1).join('')}…`
    : characters.join('');
}
