import type { Msg } from '@isoloop/core';

/**
 * Converts a client's system messages to user messages, so that the model does not treat them as
 * the agent's own prompt. The origin `client` keeps `markAsProgram` from treating them as the
 * library's own messages, and makes `titleOf` prefer other messages.
 */
export function withoutSystem(messages: readonly Msg[]): readonly Msg[] {
  return messages.map((message) =>
    message.role === 'system'
      ? { ...message, role: 'user', metadata: { origin: 'client' } }
      : message,
  );
}
