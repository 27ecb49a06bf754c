import { EchoMemory } from '@isoloop/core/adapter';
import type { EchoMemoryOptions } from '@isoloop/core/adapter';
import { KvStore } from './kv-store.ts';
import type { KvStoreOptions } from './kv-store.ts';

export interface KvMemoryOptions extends KvStoreOptions, EchoMemoryOptions {}

/**
 * A conversation in Cloudflare KV, written once a turn, at its end: the turn's records under a key
 * of their own, then the head. With `secrets` the client's echo tells a read that comes late, and a
 * turn that another one has overtaken: see `EchoMemory`. Without them a late read goes unnoticed,
 * and one writer a session is the caller's to see to; what two at the same time do to each other is
 * told at `SessionMemory`.
 */
export class KvMemory extends EchoMemory {
  /** Throws `CONFIGURATION` for an option. */
  constructor(kv: KVNamespace, sessionId: string, options: KvMemoryOptions = {}) {
    super(new KvStore(kv, options), sessionId, options);
  }
}
