import { userMessage, type Msg } from '@isoloop/core';

export function message(id: string): Msg {
  return userMessage(`text of ${id}`, { id });
}

export function idsOf(messages: readonly Msg[]): readonly string[] {
  return messages.map(({ id }) => id);
}
