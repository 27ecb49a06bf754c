import { EchoMemory, type EchoMemoryOptions } from './log/echo-memory.ts';
import { KvStore, type KvStoreOptions } from './kv-store.ts';

/** How a `KvMemory` signs echoes and handles late reads. */
export interface KvMemoryOptions extends KvStoreOptions, EchoMemoryOptions {}

/**
 * Memory of a conversation in Cloudflare KV. Each turn is written once, at its end.
 *
 * With `secrets`, the echo that the client sends detects outdated reads and conflicting turns (see
 * `EchoMemory`). Without `secrets` outdated reads are not detected, and you must ensure that each
 * session has only one writer at a time. `SessionMemory` describes the effects of two concurrent
 * writers.
 */
export class KvMemory extends EchoMemory {
  /** Throws `CONFIGURATION` for an invalid option. */
  constructor(kv: KVNamespace, sessionId: string, options: KvMemoryOptions = {}) {
    const { expirationTtl: _ttl, retryDelayMs: _delay, ...memory } = options;
    super(new KvStore(kv, options), sessionId, memory);
  }
}
