import type { UIMessage } from '@isoloop/react';

/**
 * Messages that the page has shown last. They outlive the connection to the agent, so that a move
 * and a killed worker do not empty the page.
 */
export interface ShownMessages {
  /** Returns the messages of a conversation, or `undefined` if another one was shown last. */
  read(sessionId: string): readonly UIMessage[] | undefined;
  write(sessionId: string, messages: readonly UIMessage[]): void;
}

/** Creates a memory of shown messages. Like a draft, it is not React state. */
export function createShownMessages(): ShownMessages {
  let shown: { readonly id: string; readonly messages: readonly UIMessage[] } | undefined;
  return {
    read: (sessionId) => (shown?.id === sessionId ? shown.messages : undefined),
    write: (id, messages) => void (shown = { id, messages }),
  };
}
