import type { Memory } from '@isoloop/core';
import type { Context } from 'hono';
import { echoHeader } from '../http/header-names.ts';
import type { EdgeEnv, MemorySetup } from '../settings/handler-options.ts';

/** What a client has seen of a session. */
export type EchoSetup = Pick<MemorySetup, 'echo' | 'withoutEcho'>;

/**
 * Reads the echo from the header. Without an echo, the turn continues from the latest state that
 * the store returns.
 */
export function readEcho(c: Context<EdgeEnv>): EchoSetup {
  const echo = c.req.header(echoHeader);
  return { ...(echo !== undefined && { echo }), withoutEcho: 'latest' };
}

/** Returns the memory's echo, if it has one. The client sends this echo with its next request. */
export function echoOf(memory: Memory): string | undefined {
  const { echo } = memory as { readonly echo?: unknown };
  return typeof echo === 'string' ? echo : undefined;
}
