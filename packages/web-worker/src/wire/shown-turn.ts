import type { UiChunk } from '@isoloop/core/ai-sdk';

/** The beginning of the chat message that shows a run. */
export interface ShownTurn {
  /** Id of the message that the answer continues; absent: a new message. */
  readonly messageId?: string;
  /** Earlier content of that message, for a reader that rebuilds it. */
  readonly before?: readonly UiChunk[];
}
