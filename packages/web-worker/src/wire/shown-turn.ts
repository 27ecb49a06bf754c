import type { UiChunk } from '@isoloop/core/ai-sdk';

/** How the message begins that shows a run. */
export interface ShownTurn {
  /** The id of the message that the answer goes on with; absent: a new one. */
  readonly messageId?: string;
  /** What that message has already, for a reader that rebuilds it. */
  readonly before?: readonly UiChunk[];
}
