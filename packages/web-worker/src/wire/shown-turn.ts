import type { UiChunk } from '@isoloop/core/ai-sdk';

/** Beginning of the chat message that shows a run. */
export interface ShownTurn {
  /** Id of the message that the run continues. Absent if the run starts a new message. */
  readonly messageId?: string;
  /** Earlier content of the continued message, for a reader that rebuilds the whole message. */
  readonly before?: readonly UiChunk[];
  /** Whether the run continues an answer that was cut off, for example by a reload. */
  readonly continues?: boolean;
}
