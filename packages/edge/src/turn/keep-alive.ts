import { keepAlive, objectMediaType, timerMs, keepAliveHeader } from '@isoloop/core/adapter';
import type { Context } from 'hono';
import type { EdgeEnv } from '../handler-options.ts';
import { publicErrorOf } from '../http/error-response.ts';
import type { PublicError } from '../http/error-response.ts';
import { reportDisconnect } from '../http/request-context.ts';

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

/**
 * Longest time to the head and the first byte of a stream, in milliseconds. A failure before this
 * time has its own status.
 */
const openingMs = 1000;

/**
 * Returns a response whose body is never silent for longer than `keepAliveMs`. If the first second
 * is silent, it gets a comment, too. The header `x-isoloop-keep-alive` tells the time to the
 * client.
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
  return new Response(keptAlive(source, setup), { headers });
}

function keptAlive(
  source: ByteSource,
  { kind, keepAliveMs }: StreamSetup,
): ReadableStream<Uint8Array> {
  const isObject = kind === 'object';
  const filler = new TextEncoder().encode(isObject ? keepAlive : ': keep-alive\n\n');
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
          if (isWaiting && isSilent && mayComment) controller.enqueue(filler);
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

/** Stream that may begin before its answer. */
export interface LateStream extends StreamSetup {
  /** Returns the last text of the stream, for an error of the answer. */
  readonly encodeError: (error: PublicError) => string | Promise<string>;
}

/**
 * Returns the streamed answer. If it takes longer than a second, the response begins without it, so
 * that no proxy gives up before the first byte. A failure of the answer is then a part of the
 * stream.
 */
export async function openInTime(
  c: Context<EdgeEnv>,
  answer: Promise<Response>,
  setup: LateStream,
): Promise<Response> {
  if (!(await takesLonger(answer, openingMs))) return answer;
  const source = lateSource(answer, setup, c.get('requestId'));
  return streamResponse(
    {
      next: async () => (await source).next(),
      cancel: () => {
        reportDisconnect(c);
        void source.then(({ cancel }) => cancel());
      },
    },
    setup,
  );
}

async function lateSource(
  answer: Promise<Response>,
  { encodeError }: LateStream,
  requestId: string,
): Promise<ByteSource> {
  let error: PublicError;
  try {
    const response = await answer;
    if (response.ok) return byteSource(response.body);
    ({ error } = (await response.json()) as { readonly error: PublicError });
  } catch (thrown) {
    error = publicErrorOf(thrown, requestId);
  }
  return byteSource(new Response(await encodeError(error)).body);
}

/** Returns the bytes of a body as the source of another stream. No body has no bytes. */
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

async function takesLonger(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), ms);
  });
  const settled = work.then(
    () => false,
    () => false,
  );
  const isLate = await Promise.race([settled, timeout]);
  clearTimeout(timer);
  return isLate;
}
