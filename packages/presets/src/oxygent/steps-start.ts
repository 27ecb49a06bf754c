import type { Msg } from '@isoloop/core';
import { metadataOf } from '@isoloop/core/message';

/**
 * Returns the index of the first message after the turn's question. An empty reply is not stored,
 * but its correction is. A correction may therefore be that first message.
 */
export function stepsStart(turn: readonly Msg[]): number {
  const stepIndex = turn.findIndex(
    (message) =>
      message.role === 'assistant' || message.role === 'tool' || metadataOf(message).correction,
  );
  return stepIndex < 0 ? turn.length : stepIndex;
}
