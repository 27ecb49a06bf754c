import type { Memory } from '@isoloop/core';
import { BatchCache } from '@isoloop/core/adapter';
import type { MemorySetup } from '../handler-options.ts';
import { sessionSecrets } from '../http/secrets.ts';
import { KvMemory } from './kv-memory.ts';
import { KvStore } from './kv-store.ts';

/** Conversations in Workers KV, for the option `kv` of `createAgentHandler`. */
export interface KvSessions {
  /** Opens the memory of a session. */
  readonly open: (kv: KVNamespace, setup: MemorySetup) => Memory;
  /** Returns the store with the logs of all sessions. */
  readonly store: (kv: KVNamespace) => KvStore;
  /** Returns the titles that a user gave to conversations. */
  readonly titles: (kv: KVNamespace, user: string) => KvTitles;
}

/**
 * Keeps conversations in the KV namespace bound as `CHAT_KV`, if no Durable Object is bound as
 * `CHAT_SESSION`. Each conversation is a `KvMemory`. Echoes need a secret of 32 or more characters,
 * bound as `SESSION_SECRET`. While you replace the secret, bind the old one as `SESSION_SECRET_OLD`.
 *
 * @example
 * createAgentHandler<Env>({ agent, authorize, kv: kvSessions() });
 */
export function kvSessions(): KvSessions {
  return {
    open,
    store: (kv) => new KvStore(kv),
    titles: (kv, user) => new KvTitles(kv, user),
  };
}

/**
 * Size of the cache, in characters of stored text. An isolate has 128 MB of memory, and parsed text
 * takes about three times as much memory as stored text.
 */
const cachedCharacters = 4_000_000;
const caches: WeakMap<KVNamespace, BatchCache> = new WeakMap();

function open(kv: KVNamespace, setup: MemorySetup): Memory {
  // Caches stored batches in the isolate, because the next turn of a session often reaches the same
  // isolate.
  const cache = caches.get(kv) ?? new BatchCache(cachedCharacters);
  caches.set(kv, cache);
  // A session id has no slash, so the keys of two users are never the same.
  const { user, sessionId, echo, withoutEcho } = setup;
  const secrets = sessionSecrets(setup.env);
  return new KvMemory(kv, `${user}/${sessionId}`, {
    ...(secrets.length && { secrets }),
    ...(echo !== undefined && { echo }),
    withoutEcho,
    cache,
  });
}

/**
 * Titles that a user gave to conversations in KV. Each title has a key of its own, because a write
 * to the conversation's log would conflict with a turn that continues an earlier state.
 */
export class KvTitles {
  readonly #store: KvStore;
  readonly #prefix: string;

  constructor(kv: KVNamespace, user: string) {
    this.#store = new KvStore(kv);
    this.#prefix = `title:${encodeURIComponent(user)}/`;
  }

  /** Reads all titles. Returns a function that returns the title of a session. */
  async read(): Promise<(sessionId: string) => string | undefined> {
    const titles = await this.#store.getMany(await this.#store.keys(this.#prefix));
    return (sessionId) => titles.get(this.#prefix + sessionId);
  }

  set(sessionId: string, title: string): Promise<void> {
    return this.#store.set(this.#prefix + sessionId, title);
  }

  delete(sessionId: string): Promise<void> {
    return this.#store.delete([this.#prefix + sessionId]);
  }
}
