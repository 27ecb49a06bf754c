import { EchoMemory } from '@isoloop/core/adapter';
import type { EchoMemoryOptions } from '@isoloop/core/adapter';
import { KvStore } from './kv-store.ts';
import type { KvStoreOptions } from './kv-store.ts';

export interface KvMemoryOptions extends KvStoreOptions, EchoMemoryOptions {}

/**
 * A conversation in Cloudflare KV, written once, at the end of each turn. The turn's records get a
 * key of their own; the head follows. With `secrets`, the client's echo detects late reads and
 * turns that another turn has overtaken: see `EchoMemory`. Without them a late read goes unnoticed,
 * and the caller must ensure one writer per session. `SessionMemory` describes what two concurrent
 * writers do to each other.
 */
export class KvMemory extends EchoMemory {
  /** Throws `CONFIGURATION` for an invalid option. */
  constructor(kv: KVNamespace, sessionId: string, options: KvMemoryOptions = {}) {
    super(new KvStore(kv, options), sessionId, options);
  }
}
