import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, nonNegative, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { Awaitable } from '../event/hook.ts';
import type { KeyValueStore } from '../memory/store/key-value-store.ts';
import type { ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { RecentMap } from '../wait/recent-map.ts';

/** The complete reply of a model, as plain JSON. */
export interface CachedReply {
  /** Key of the request that the reply answers. */
  readonly key: string;
  /** Time until which the reply is used, in milliseconds since 1970, by the cache's clock. */
  readonly expiresAt: number;
  /** Deltas of the model, joined within each block. The last delta is `finish`. */
  readonly deltas: readonly ModelDelta[];
}

/**
 * Store for the replies of a cache. `get` may also return the reply to an equivalent request, which
 * a store can find by similarity. The `key` of such a reply differs from the requested key. If a
 * method throws, the cache's `onError` gets the error. Source: Arc Reactor, a semantic hit.
 */
export interface ReplyCacheStore {
  get(key: string, request: ModelRequest): Awaitable<CachedReply | undefined>;
  set(reply: CachedReply, request: ModelRequest): Awaitable<void>;
}

/**
 * Stores replies in this process. If there are more than `maxEntries` replies (default 1000), the
 * least recently used reply is removed. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function inMemoryReplies(options: { readonly maxEntries?: number } = {}): ReplyCacheStore {
  checkOptions('inMemoryReplies()', options, inMemoryRepliesOptions);
  const { maxEntries = 1000 } = options;
  const replies = new RecentMap<string, CachedReply>(maxEntries);
  return {
    get: (key) => replies.get(key),
    set: (reply) => replies.set(reply.key, reply),
  };
}

const inMemoryRepliesOptions: OptionTable<{ readonly maxEntries?: number }> = {
  maxEntries: optional(nonNegative),
};

/**
 * Stores replies in a key-value store that several processes can share. Expired replies stay in the
 * store until they are overwritten. Throws `CONFIGURATION` for an argument of the wrong kind.
 */
export function storedReplies(store: KeyValueStore): ReplyCacheStore {
  checkFields('storedReplies(): the store', store, { get: func, set: func });
  const keyFor = (key: string): string => `reply:${encodeURIComponent(key)}`;
  return {
    async get(key) {
      const text = await store.get(keyFor(key));
      return text === undefined ? undefined : (JSON.parse(text) as CachedReply);
    },
    set: (reply) => store.set(keyFor(reply.key), JSON.stringify(reply)),
  };
}
