import {
  createUiMessageEncoder,
  type UiMessageEncoderOptions,
  type UiChunk,
} from '@isoloop/core/stream';
import { readUIMessageStream, uiMessageChunkSchema, type UIMessage, type UIMessageChunk } from 'ai';
import type { AgentStream } from '@isoloop/core';

/** Encodes a run for AI SDK's `useChat`. */
export async function chunksOf(
  stream: AgentStream,
  options?: UiMessageEncoderOptions,
): Promise<UiChunk[]> {
  const encoder = createUiMessageEncoder(options);
  const chunks: UiChunk[] = [];
  for await (const batch of stream.batches()) chunks.push(...encoder.encode(batch));
  return chunks;
}

/**
 * Reads chunks with AI SDK's own schema and reader, which continues `message`. An unknown chunk
 * fails the test.
 */
export async function readChunks(
  chunks: readonly UiChunk[],
  message?: UIMessage,
): Promise<UIMessage> {
  const { validate } = await uiMessageChunkSchema();
  const stream = new ReadableStream<UIMessageChunk>({
    async start(controller) {
      for (const chunk of chunks) {
        const checked = await validate!(structuredClone(chunk));
        if (checked.success) controller.enqueue(checked.value);
        else controller.error(checked.error);
      }
      controller.close();
    },
  });
  const messages = readUIMessageStream({
    stream,
    terminateOnError: true,
    ...(message && { message }),
  });
  let last = message;
  for await (const latest of messages) last = latest;
  return last!;
}
