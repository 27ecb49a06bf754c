import type { Memory } from '@isoloop/core';
import type { MemorySetup } from './handler-options.ts';
import type { StoredSessionList } from './session-list.ts';

/** Conversations in Workers KV, for the option `kv` of `createAgentHandler`. */
export interface KvSessions {
  /** Opens the memory of a session. Returns `undefined` if no namespace is bound. */
  readonly open: (setup: MemorySetup) => Memory | undefined;
  /** Returns the list of a user's conversations, or `undefined` if no namespace is bound. */
  readonly list: (env: unknown, user: string) => StoredSessionList | undefined;
}
