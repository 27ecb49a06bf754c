import { checkFields } from '../../error/check-fields.ts';
import type { KeyValueStore } from '../../memory/key-value-store.ts';
import type { ModelDelta, ModelRequest } from '../../model/chat-model.ts';

/** A model's whole reply; plain JSON. */
export interface CachedReply {
  /** Of the request that it answered. */
  readonly key: string;
  /** Milliseconds since 1970, by the cache's clock; it is not used from then on. */
  readonly expiresAt: number;
  /** As the model gave them, those of one block joined; the last is `finish`. */
  readonly deltas: readonly ModelDelta[];
}

/**
 * Where a cache has its replies. `get` may also find the reply to another request that means the
 * same, by similarity, say: its `key` tells (Arc Reactor: a semantic hit). What either throws goes
 * to the cache's `onError`.
 */
export interface ResponseStore {
  get(
    key: string,
    request: ModelRequest,
  ): PromiseLike<CachedReply | undefined> | CachedReply | undefined;
  set(reply: CachedReply, request: ModelRequest): PromiseLike<void> | void;
}

/**
 * Replies in this process. At `maxEntries` (1000) the one that was not used for the longest time
 * goes. Throws `CONFIGURATION`.
 */
export function memoryResponses(options: { readonly maxEntries?: number } = {}): ResponseStore {
  checkFields('CONFIGURATION', 'memoryResponses()', options, 'maxEntries:count|?');
  const { maxEntries = 1000 } = options;
  const replies = new Map<string, CachedReply>();
  const touch = (reply: CachedReply): CachedReply => {
    // To the end: the first is the one to go.
    replies.delete(reply.key);
    replies.set(reply.key, reply);
    return reply;
  };
  return {
    get(key) {
      const reply = replies.get(key);
      return reply && touch(reply);
    },
    set(reply) {
      touch(reply);
      if (replies.size > maxEntries) replies.delete(replies.keys().next().value!);
    },
  };
}

/**
 * Replies in a key-value store, for several processes; what is out of date stays there until it is
 * overwritten. Throws `CONFIGURATION`.
 */
export function storedResponses(
  store: KeyValueStore,
  options: { readonly prefix?: string } = {},
): ResponseStore {
  checkFields('CONFIGURATION', 'storedResponses(): the store', store, 'get:function set:function');
  checkFields('CONFIGURATION', 'storedResponses()', options, 'prefix:string|?');
  const { prefix = 'reply:' } = options;
  return {
    async get(key) {
      const text = await store.get(prefix + encodeURIComponent(key));
      return text === undefined ? undefined : (JSON.parse(text) as CachedReply);
    },
    set: (reply) => store.set(prefix + encodeURIComponent(reply.key), JSON.stringify(reply)),
  };
}
