import { AgentError } from '@isoloop/core';
import type { Memory } from '@isoloop/core';
import type { HandlerSettings, SessionSetup } from './handler-options.ts';
import { KvMemory } from './kv-memory.ts';

/** A session id a client posted; `INVALID_INPUT` unless it is 1 to 128 letters, digits, `_`, `-`, `.` and `:`. */
export function checkSession(id: unknown): string {
  if (typeof id === 'string' && /^[\w.:-]{1,128}$/.test(id)) return id;
  throw new AgentError('INVALID_INPUT', 'The session id must be 1 to 128 letters, digits, "_", "-", "." and ":".', {
    details: { param: 'id' },
  });
}

/** Where the session is kept; `CONFIGURATION` where there is no such place. */
export async function openMemory(settings: HandlerSettings, setup: SessionSetup): Promise<Memory> {
  if (settings.memory) return settings.memory(setup);
  const { CHAT_KV: kv } = (setup.env ?? {}) as { readonly CHAT_KV?: KVNamespace };
  if (!kv) {
    const advice = 'Bind a KV namespace as CHAT_KV in wrangler.toml, or pass `memory` to createAgentHandler.';
    throw new AgentError('CONFIGURATION', `There is no place to keep conversations. ${advice}`);
  }
  // A session id has no slash: two users' keys are never the same.
  return new KvMemory(kv, `${setup.user}/${setup.session}`);
}

/** Takes everything behind the message with this id out of the conversation, and the message itself if `inclusive`. */
export async function rewind(memory: Memory, isPlace: (id: string, role: string) => boolean, inclusive: boolean): Promise<boolean> {
  const messages = await memory.read();
  const place = messages.findLastIndex(({ id, role }) => isPlace(id, role));
  if (place < 0) return false;
  await memory.delete(messages.slice(inclusive ? place : place + 1).map(({ id }) => id));
  return true;
}
