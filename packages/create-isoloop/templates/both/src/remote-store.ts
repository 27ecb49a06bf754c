import type { KeyValueStore } from '@isoloop/core';

/** Runs a method of the store where the conversations are. Arguments and results are JSON. */
export type StoreCall = (method: string, args: readonly unknown[]) => Promise<unknown>;

/** Returns a store whose methods run elsewhere. The tab and the endpoint use the same store. */
export function remoteStore(call: StoreCall): KeyValueStore {
  return {
    features: { atomic: true, compareAndSet: true, maxValueBytes: 1_000_000 },
    async get(key) {
      const [found] = (await call('getMany', [[key]])) as [string, string][];
      return found?.[1];
    },
    async getMany(keys) {
      return new Map((await call('getMany', [keys])) as [string, string][]);
    },
    async set(key, value) {
      await call('setMany', [[[key, value]]]);
    },
    async setMany(entries) {
      await call('setMany', [entries]);
    },
    async delete(keys) {
      await call('delete', [keys]);
    },
    async keys(prefix) {
      return (await call('keys', [prefix])) as string[];
    },
    async compareAndSet(key, expected, value) {
      return (await call('compareAndSet', [key, expected ?? null, value])) as boolean;
    },
  };
}
