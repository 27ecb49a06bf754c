import { AgentError } from '@isoloop/core';
import { BatchCache } from '@isoloop/core/adapter';
import type { Memory } from '@isoloop/core';
import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings, MemorySetup } from '../handler-options.ts';
import { KvMemory } from '../store/kv-memory.ts';

/**
 * Returns a session id that a client posted. Throws `INVALID_INPUT` unless it is 1 to 128 letters,
 * digits, `_`, `-`, `.` and `:`, and neither `.` nor `..`.
 */
export function checkSession(id: unknown): string {
  // URLs treat those two as folders: nobody could read, stop or delete such a session.
  if (typeof id === 'string' && /^(?!\.\.?$)[\w.:-]{1,128}$/.test(id)) return id;
  throw new AgentError(
    'INVALID_INPUT',
    'The session id must be 1 to 128 letters, digits, "_", "-", "." and ":", and not "." or "..".',
    {
      details: { param: 'id' },
    },
  );
}

interface Bindings {
  readonly CHAT_KV?: KVNamespace;
  readonly SESSION_SECRET?: string;
  readonly SESSION_SECRET_OLD?: string;
}

/** Opens the session's memory. Rejects with `CONFIGURATION` if there is no place to keep it. */
export async function openMemory(
  settings: Pick<HandlerSettings, 'memory'>,
  setup: MemorySetup,
): Promise<Memory> {
  if (settings.memory) return settings.memory(setup);
  const {
    CHAT_KV: kv,
    SESSION_SECRET: secret,
    SESSION_SECRET_OLD: old,
  } = (setup.env ?? {}) as Bindings;
  if (!kv) {
    const advice =
      'Bind a KV namespace as CHAT_KV in wrangler.toml, or pass `memory` to createAgentHandler.';
    throw new AgentError('CONFIGURATION', `There is no place to keep conversations. ${advice}`);
  }
  // Cached while the isolate lives: a session's next turn often reaches the same isolate.
  const cache = caches.get(kv) ?? new BatchCache(cachedCharacters);
  caches.set(kv, cache);
  // A session id has no slash, so two users' keys are never the same.
  const { user, session, echo, withoutEcho } = setup;
  return new KvMemory(kv, `${user}/${session}`, {
    ...(secret && { secrets: old ? [secret, old] : [secret] }),
    ...(echo !== undefined && { echo }),
    withoutEcho,
    cache,
  });
}

/**
 * Cache size, in characters of stored text. An isolate has 128 MB, and parsed text takes about
 * three times as much.
 */
const cachedCharacters = 4_000_000;
const caches: WeakMap<KVNamespace, BatchCache> = new WeakMap();

/** Header that carries the echo if no message does. */
export const echoHeader = 'x-isoloop-echo';

/**
 * Reads the echo from the header alone. Without an echo, the turn continues from the latest state.
 */
export function readEcho(c: Context<EdgeEnv>): Pick<MemorySetup, 'echo' | 'withoutEcho'> {
  const echo = c.req.header(echoHeader);
  return { ...(echo !== undefined && { echo }), withoutEcho: 'latest' };
}

/** Tells the memory that the turn's client has gone, if the memory has a `leave` method. */
export function leaveMemory(memory: Memory): void {
  (memory as { readonly leave?: () => void }).leave?.();
}

/** Returns the echo that the client sends with its next request, if the memory has one. */
export function echoOf(memory: Memory): string | undefined {
  const { echo } = memory as { readonly echo?: unknown };
  return typeof echo === 'string' ? echo : undefined;
}
