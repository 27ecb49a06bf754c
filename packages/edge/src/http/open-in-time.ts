import type { Context } from 'hono';
import type { EdgeEnv } from '../settings/handler-options.ts';
import { publicErrorOf, type PublicError } from './error-response.ts';
import { reportDisconnect } from './request-context.ts';
import {
  byteSource,
  openingMs,
  streamResponse,
  type ByteSource,
  type StreamSetup,
} from './stream-response.ts';

/** Format of a stream that may open before its answer, and of the answer's failure. */
export interface LateStream extends StreamSetup {
  /** Returns the last text of a stream whose answer has failed. */
  readonly encodeError: (error: PublicError) => string | Promise<string>;
}

/**
 * Returns the streamed answer. If the answer takes longer than a second, returns a response that
 * begins without it, so that no proxy gives up before the first byte. A later failure has no status
 * of its own: the stream contains it.
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
