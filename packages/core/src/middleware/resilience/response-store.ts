import { checkFields } from '../../error/check-fields.ts';
import type { KeyValueStore } from '../../memory/key-value-store.ts';
import type { ModelDelta, ModelRequest } from '../../model/chat-model.ts';

/** The complete reply of a model, as plain JSON. */
export interface CachedReply {
  /** Key of the request that it answered. */
  readonly key: string;
  /** End of its lifetime, in milliseconds since 1970, by the cache's clock. */
  readonly expiresAt: number;
  /** The model's deltas, joined within each block; the last is `finish`. */
  readonly deltas: readonly ModelDelta[];
}

/**
 * Store for the replies of a cache. `get` may also return the reply to an equivalent request, found
 * by similarity, for example. Such a reply has a `key` that differs from the requested one (Arc
 * Reactor: a semantic hit). Errors that either method throws go to the cache's `onError`.
 */
export interface ResponseStore {
  get(
    key: string,
    request: ModelRequest,
  ): PromiseLike<CachedReply | undefined> | CachedReply | undefined;
  set(reply: CachedReply, request: ModelRequest): PromiseLike<void> | void;
}

/**
 * Stores replies in this process. Above `maxEntries` (1000), the least recently used reply is
 * removed. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function memoryResponses(options: { readonly maxEntries?: number } = {}): ResponseStore {
  checkFields('CONFIGURATION', 'memoryResponses()', options, 'maxEntries:count|?');
  const { maxEntries = 1000 } = options;
  const replies = new Map<string, CachedReply>();
  const touch = (reply: CachedReply): CachedReply => {
    // Moves the reply to the end, because the first reply is removed when there are too many.
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
 * Stores replies in a key-value store, for several processes. Expired replies stay there until they
 * are overwritten. Throws `CONFIGURATION` for an argument of the wrong kind.
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
