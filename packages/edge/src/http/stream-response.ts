import { keepAlive, objectMediaType } from '@isoloop/core/output';
import { keepAliveHeader } from '@isoloop/core/endpoint';
import { timerMs } from '@isoloop/core/wait';

/** Source of a stream's bytes. */
export interface ByteSource {
  /** Returns the next bytes. `isLast`: the stream ends after them. */
  readonly next: () => Promise<{
    readonly bytes?: Uint8Array | undefined;
    readonly isLast: boolean;
  }>;
  /** Called when the client disconnects. */
  readonly cancel: () => void;
}

/** Format of a stream, and how long it may be silent. */
export interface StreamSetup {
  /** Format of the client. `object`: an object that grows. Others are server-sent events. */
  readonly kind: string;
  /** Maximum time without data, in milliseconds. */
  readonly keepAliveMs: number;
}

/** Longest time to the head of a stream, and then to its first byte, in milliseconds. */
export const openingMs = 1000;

/**
 * Returns a response whose body is never silent for longer than `keepAliveMs`, or for the first
 * second. A comment breaks the silence. The header `x-isoloop-keep-alive` has the time.
 */
export function streamResponse(source: ByteSource, setup: StreamSetup): Response {
  const { kind, keepAliveMs } = setup;
  const headers = {
    'content-type': kind === 'object' ? objectMediaType : 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    ...(kind === 'ui' && { 'x-vercel-ai-ui-message-stream': 'v1' }),
    ...(keepAliveMs < Infinity && { [keepAliveHeader]: String(keepAliveMs) }),
  };
  return new Response(withComments(source, setup), { headers });
}

function withComments(
  source: ByteSource,
  { kind, keepAliveMs }: StreamSetup,
): ReadableStream<Uint8Array> {
  const isObject = kind === 'object';
  const comment = new TextEncoder().encode(isObject ? keepAlive : ': keep-alive\n\n');
  const halfMs = timerMs(keepAliveMs / 2);
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isWaiting = false;
  let isSilent = true;
  let lastBytes: Uint8Array | undefined;

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Uses one timer for the whole stream, because a timer per chunk would cost more time than
        // the chunk itself.
        const beat = (): void => {
          const mayComment = isObject || endsEvent(lastBytes);
          if (isWaiting && isSilent && mayComment) controller.enqueue(comment);
          isSilent = true;
          timer = setTimeout(beat, halfMs);
        };
        timer = setTimeout(beat, keepAliveMs < Infinity ? Math.min(openingMs, halfMs) : halfMs);
      },
      async pull(controller) {
        isWaiting = true;
        const { bytes, isLast } = await source.next().catch((error: unknown) => {
          stop();
          throw error;
        });
        isWaiting = false;
        isSilent = false;
        if (timer === null) return;
        if (bytes?.length) {
          // The end of an event may come in pieces.
          const isPiece = bytes.length < 3 && lastBytes !== undefined;
          lastBytes = isPiece ? Uint8Array.of(...lastBytes!.slice(-2), ...bytes) : bytes;
          controller.enqueue(bytes);
        }
        if (!isLast) return;
        stop();
        controller.close();
      },
      cancel() {
        stop();
        source.cancel();
      },
    },
    { highWaterMark: 0 },
  );

  function stop(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  }
}

/**
 * Returns whether a comment may follow. In the middle of an event, the comment's blank line would
 * end the event too early.
 */
function endsEvent(bytes: Uint8Array | undefined): boolean {
  return !bytes || /\n\r?\n$/.test(new TextDecoder().decode(bytes.slice(-3)));
}

/** Returns the bytes of a body as the source of another stream. Without a body, there are none. */
export function byteSource(body: ReadableStream<Uint8Array> | null): ByteSource {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = body?.getReader();
  return {
    next: async () => {
      const read = await reader?.read();
      return read?.done === false ? { bytes: read.value, isLast: false } : { isLast: true };
    },
    cancel: () => void reader?.cancel().catch(() => {}),
  };
}
