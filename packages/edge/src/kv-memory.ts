import { SessionMemory } from '@isoloop/core';
import { KvStore } from './kv-store.ts';
import type { KvStoreOptions } from './kv-store.ts';

/**
 * A conversation in Cloudflare KV, written once a turn, at its end: the turn's records under a key of their own, then the head.
 * One writer a session is the caller's to see to; what two at the same time do to each other is told at `SessionMemory`.
 */
export class KvMemory extends SessionMemory {
  constructor(kv: KVNamespace, sessionId: string, options?: KvStoreOptions) {
    super(new KvStore(kv, options), sessionId, { durability: 'turn' });
  }
}
