import { type KeyValueStore, MemoryStore } from '@isoloop/core';

/** Creates a store without `compareAndSet` that writes one value at a time, like Cloudflare KV. */
export function weakStore(store: MemoryStore = new MemoryStore()): KeyValueStore {
  return {
    features: { ...store.features, atomic: false, compareAndSet: false },
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    set: (key, value) => store.set(key, value),
    setMany: (entries) => store.setMany(entries),
    delete: (keys) => store.delete(keys),
    keys: (prefix) => store.keys(prefix),
  };
}
