import type { UIMessage } from '../chat/ui-message.ts';

/** Message that was sent and is not in the conversation yet. */
export interface QueuedMessage {
  readonly id: string;
  readonly message: UIMessage;
  /**
   * `waiting`: it waits for the end of an answer, or for the result of a tool call. `failed`: its
   * turn failed before the agent had the message.
   */
  readonly state: 'waiting' | 'failed';
  /** Why the turn failed. */
  readonly error?: { readonly code: string; readonly message: string };
}
