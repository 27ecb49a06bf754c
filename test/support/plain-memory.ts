import type { Memory, Msg } from '@isoloop/core';

/** Creates a memory that has only the required methods, and does not reorder messages. */
export function plainMemory(): Memory {
  let messages: readonly Msg[] = [];
  return {
    append: async (more) => void (messages = [...messages, ...more]),
    read: async () => messages,
    delete: async (ids) => void (messages = messages.filter(({ id }) => !ids.includes(id))),
    clear: async () => void (messages = []),
  };
}
