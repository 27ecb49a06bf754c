import type { AgentStream } from '@isoloop/core';
import type { Context } from 'hono';
import { logError } from './error-response.ts';
import type { EdgeEnv } from './handler-options.ts';
import { waitUntil } from './request-context.ts';

/** Lets the run end, also without its client; what it gives back is to be called when the client has gone. */
export function keepTurn(c: Context<EdgeEnv>, { result }: AgentStream, abort: () => void, afterMs: number): () => void {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let ended = false;
  const requestId = c.get('requestId');
  const settled = result
    .catch((error: unknown) => logError(error, requestId))
    .finally(() => {
      ended = true;
      clearTimeout(timer);
    });
  waitUntil(c, settled);
  return () => {
    if (!ended) timer ??= setTimeout(abort, afterMs);
  };
}
