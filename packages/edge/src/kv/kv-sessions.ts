import type { Memory } from '@isoloop/core';
import { BatchCache } from './log/batch-cache.ts';
import { checkNoOptions } from '@isoloop/core/options';
import type { MemorySetup } from '../settings/handler-options.ts';
import type { SessionHomes } from '../settings/session-home.ts';
import { sessionSecrets } from '../http/secrets.ts';
import { KvMemory } from './kv-memory.ts';
import { KvStore } from './kv-store.ts';
import { KvTitles } from './kv-titles.ts';
import { listInStore, pageOf } from '../session/list-in-store.ts';
import { unknownSessionError } from '../session/commands.ts';
import type {
  ListedSession,
  SessionListOptions,
  StoredSessionList,
} from '../settings/session-list.ts';

/**
 * Keeps conversations in the KV namespace bound as `CHAT_KV`, if no Durable Object is bound as
 * `CHAT_SESSION`. Each conversation is a `KvMemory`. Echoes need a secret of 32 or more characters,
 * bound as `SESSION_SECRET`. While you replace the secret, bind the old one as
 * `SESSION_SECRET_OLD`.
 *
 * @example
 * createAgentHandler<Env>({ agent, authorize, kv: kvSessions() });
 */
export function kvSessions(): SessionHomes;
export function kvSessions(...args: readonly unknown[]): SessionHomes {
  checkNoOptions(
    'kvSessions()',
    args,
    'It uses the bindings `CHAT_KV`, `SESSION_SECRET` and `SESSION_SECRET_OLD`.',
  );
  return {
    open: () => (env) => {
      const { CHAT_KV: namespace } = env as { readonly CHAT_KV?: KVNamespace };
      if (!namespace) return undefined;
      return {
        kind: 'kv',
        namespace,
        open: (setup) => openIn(namespace, setup),
        list: (user) => new KvSessionList(namespace, user),
      };
    },
  };
}

/**
 * Size of the cache, in characters of stored text. An isolate has 128 MB of memory, and parsed text
 * takes about three times as much memory as stored text.
 */
const cachedCharacters = 4_000_000;
const caches: WeakMap<KVNamespace, BatchCache> = new WeakMap();

function openIn(kv: KVNamespace, setup: MemorySetup): Memory {
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

/** The list of a user's conversations in KV. */
class KvSessionList implements StoredSessionList {
  readonly #store: KvStore;
  readonly #user: string;
  readonly #titles: KvTitles;

  constructor(kv: KVNamespace, user: string) {
    this.#store = new KvStore(kv);
    this.#user = user;
    this.#titles = new KvTitles(kv, user);
  }

  /** Returns a page of the conversations, the most recently changed first. */
  async page(options: SessionListOptions): Promise<readonly ListedSession[]> {
    const sessions = await listInStore(this.#store, this.#user);
    const titleOf = await this.#titles.read();
    return pageOf(sessions, options).map((session) => ({
      ...session,
      title: titleOf(session.sessionId) ?? session.title,
    }));
  }

  /** Gives a conversation another title. Rejects with `NOT_FOUND` if there is none. */
  async rename(sessionId: string, title: string): Promise<void> {
    const sessions = await listInStore(this.#store, this.#user);
    if (!sessions.some((session) => session.sessionId === sessionId)) throw unknownSessionError();
    await this.#titles.set(sessionId, title);
  }

  /** Deletes the title that the user gave to a conversation. */
  forgetTitle(sessionId: string): Promise<void> {
    return this.#titles.delete(sessionId);
  }
}
