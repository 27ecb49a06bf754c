import { AgentError, type Memory } from '@isoloop/core';
import type { HandlerSettings, MemorySetup } from '../settings/handler-options.ts';
import { missingOption } from '../settings/missing-option.ts';
import type { SessionHome, SessionObjects } from '../settings/session-home.ts';

/**
 * Returns a function that returns where the conversations of an endpoint live, with the bindings of
 * a request. The first of these has priority: the option `store`, Durable Objects bound as
 * `CHAT_SESSION`, the option `memory`, the option `kv`.
 */
export function sessionHomes(settings: HandlerSettings): (env: object) => SessionHome {
  const { memory } = settings;
  const storeHome = settings.store?.open(settings);
  const kvHome = settings.kv?.open(settings);
  return (env) => {
    const home = storeHome?.(env);
    if (home) return home;
    const objects = durableSessions(env);
    if (objects) return { kind: 'object', objects, hasMessages: !memory };
    if (memory) return { kind: 'memory', open: memory };
    return kvHome?.(env) ?? { kind: 'none' };
  };
}

interface Bindings {
  readonly CHAT_SESSION?: DurableObjectNamespace;
}

/** Returns the Durable Objects of the sessions. `undefined` without the binding `CHAT_SESSION`. */
export function durableSessions(env: unknown): SessionObjects | undefined {
  const { CHAT_SESSION: objects } = Object(env) as Bindings;
  return objects && ((name) => objects.get(objects.idFromName(name)));
}

/** Opens the memory of a session without an object. Rejects with `CONFIGURATION` without a home. */
export async function openMemory(home: SessionHome, setup: MemorySetup): Promise<Memory> {
  if ('open' in home) return home.open(setup);
  throw missingHomeError();
}

/** Creates the error for an endpoint that has no home for conversations. */
export function missingHomeError(): AgentError {
  const homes = 'Conversations need a place: bind CHAT_SESSION, or pass `store` or `memory`.';
  const message = missingOption(`${homes} In CHAT_KV, they need`, {
    option: 'kv',
    call: 'kvSessions()',
    from: '@isoloop/edge/kv',
  });
  return new AgentError('CONFIGURATION', message);
}
