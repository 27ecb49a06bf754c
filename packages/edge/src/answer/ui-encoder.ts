import { withEarlierAnswer } from '@isoloop/core/host';
import { createUiMessageEncoder, type UiChunk } from '@isoloop/core/stream';
import type { EncodeBatch, LiveTurn, TurnEncoderOptions } from '../settings/turn-format.ts';
import { echoOf } from './echo.ts';
import type { StreamFormat } from './formats.ts';

type UiFormat = Extract<StreamFormat, { readonly kind: 'ui' }>;

/** Creates an encoder for the UI message stream of a turn. */
export function uiEncoder(
  { events, typed }: UiFormat,
  live: LiveTurn | undefined,
  { memory, isWhole = false }: TurnEncoderOptions,
): EncodeBatch {
  const encoder = createUiMessageEncoder({ events, typed, messageId: live?.turn.messageId });
  if (memory)
    return (batch) => encoder.encode(batch).map((chunk) => addEcho(chunk, echoOf(memory)));
  return withEarlierAnswer(encoder, (isWhole && live?.earlierMessages) || []).encode;
}

/**
 * Adds the echo, which identifies the session state for the client's next request, to the metadata
 * of a chunk. The first chunk has the echo from before the turn, and the last chunk has the new
 * echo.
 */
function addEcho(chunk: UiChunk, echo: string | undefined): UiChunk {
  if (echo === undefined || !('messageMetadata' in chunk)) return chunk;
  return { ...chunk, messageMetadata: { ...chunk.messageMetadata, echo } };
}
