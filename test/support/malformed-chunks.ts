import { expect, test } from 'vitest';
import type { AgentError, ModelDelta } from '@isoloop/core';
import type { ReplyDecoder } from '../../packages/core/src/model/formatter/formatter.ts';
import { streamReply } from '../../packages/core/src/model/http/http-transport.ts';

/** Creates a body that contains this text and never ends. */
const openBody = (text: string): ReadableStream<Uint8Array<ArrayBuffer>> =>
  new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(text)) });

/** Reads a reply with this body. */
export async function readReply(
  decoder: ReplyDecoder,
  body: BodyInit,
  contentType: string,
): Promise<{ deltas: ModelDelta[]; error?: AgentError }> {
  const deltas: ModelDelta[] = [];
  const request = {
    url: 'https://x.test',
    headers: {},
    body: '{}',
    fetch: async () => new Response(body, { headers: { 'content-type': contentType } }),
    signal: new AbortController().signal,
    timeoutMs: Infinity,
  };
  try {
    for await (const batch of streamReply(() => request, decoder)) deltas.push(...batch);
    return { deltas };
  } catch (error) {
    return { deltas, error: error as AgentError };
  }
}

/** Chunks that violate a format, for `testMalformedChunks`. */
export interface MalformedChunks {
  readonly decoder: () => ReplyDecoder;
  /** A correct chunk with the text `Hi`. */
  readonly before: string;
  readonly chunks: readonly string[];
}

/** Defines the tests of a decoder that gets chunks which violate its format. */
export function testMalformedChunks({ decoder, before, chunks }: MalformedChunks): void {
  test.each(chunks)(
    '%s ends an open stream immediately, after the text before it, and the error quotes the chunk',
    async (chunk) => {
      const { deltas, error } = await readReply(
        decoder(),
        openBody(`data: ${before}\n\ndata: ${chunk}\n\n`),
        'text/event-stream',
      );
      expect(deltas).toMatchObject([{ type: 'text', delta: 'Hi' }]);
      expect([error?.name, error?.code, error?.retryable]).toEqual([
        'AgentError',
        'MODEL_BAD_RESPONSE',
        false,
      ]);
      expect(error?.message).toContain(chunk);
    },
  );

  test.each(chunks)(
    '%s as a reply in one piece is rejected, and the error quotes it',
    async (chunk) => {
      const { deltas, error } = await readReply(decoder(), chunk, 'application/json');
      expect(deltas).toEqual([]);
      expect([error?.name, error?.code, error?.retryable]).toEqual([
        'AgentError',
        'MODEL_BAD_RESPONSE',
        false,
      ]);
      expect(error?.message).toContain(chunk);
    },
  );
}
