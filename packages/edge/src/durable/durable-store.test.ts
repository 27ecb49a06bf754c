import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { createMessage, SessionMemory, type KeyValueStore } from '@isoloop/core';
import { keyValueStoreConformance, memoryConformance } from '@isoloop/core/testing';
import * as vitest from 'vitest';
import { DurableStore } from './durable-store.ts';
import { sessionConformance } from '@test/stores/session-conformance.ts';

interface Host {
  run(operation: string, ...parameters: readonly unknown[]): Promise<never>;
}

const hosts = (env as { readonly STORE_HOST: DurableObjectNamespace }).STORE_HOST;

/**
 * Creates a Durable Object with a store. Returns a store that calls the object's store from
 * outside.
 */
function hostedStore(name: string): KeyValueStore {
  const host = hosts.get(hosts.idFromName(name)) as unknown as Host;
  return {
    features: { atomic: true, compareAndSet: true, maxValueBytes: 2_000_000 - 4096 },
    get: (key) => host.run('get', key),
    getMany: (keys) => host.run('getMany', keys),
    set: (key, value) => host.run('set', key, value),
    setMany: (entries) => host.run('setMany', entries),
    delete: (keys) => host.run('delete', keys),
    keys: (prefix) => host.run('keys', prefix),
    compareAndSet: (key, expected, value) => host.run('compareAndSet', key, expected, value),
    setManyIf: (key, expected, entries) => host.run('setManyIf', key, expected, entries),
  };
}

keyValueStoreConformance(vitest, 'DurableStore', () => hostedStore('store'));
sessionConformance(vitest, 'DurableStore', () => hostedStore('store'));
memoryConformance(
  vitest,
  'SessionMemory on a DurableStore',
  (id) => new SessionMemory(hostedStore('memory'), id),
  { persistent: true },
);

/**
 * Opens a store. `calls` has its writing statements, its transactions and its waits for the disk.
 */
function watched(storage: DurableObjectStorage): {
  readonly store: DurableStore;
  readonly calls: string[];
} {
  const calls: string[] = [];
  const exec: SqlStorage['exec'] = (query, ...bindings) => {
    if (!/^(SELECT|CREATE)/.test(query)) calls.push(query.slice(0, 6));
    return storage.sql.exec(query, ...bindings);
  };
  const store = new DurableStore({
    sql: { exec },
    transactionSync: (closure: () => unknown) => {
      calls.push('transaction');
      return storage.transactionSync(closure);
    },
    sync: () => {
      calls.push('sync');
      return storage.sync();
    },
  } as never);
  return { store, calls };
}

vitest.test('a step of a session is one statement, and waits for the disk once', async () => {
  await runInDurableObject(hosts.get(hosts.newUniqueId()), async (_, { storage }) => {
    const { store, calls } = watched(storage);
    const memory = new SessionMemory(store, 's');
    await memory.append([createMessage('user', 'A')]);
    vitest.expect(calls).toEqual(['INSERT', 'sync']);
    await memory.append([createMessage('assistant', 'B')]);
    vitest.expect(calls).toEqual(['INSERT', 'sync', 'INSERT', 'sync']);
  });
});

vitest.test('a write takes effect as a whole, also if it needs several statements', async () => {
  await runInDurableObject(hosts.get(hosts.newUniqueId()), async (_, { storage }) => {
    const { store, calls } = watched(storage);
    const small = Array.from({ length: 49 }, (_each, n) => [`k${n}`, 'v'] as const);
    const more = Array.from({ length: 30 }, (_each, n) => [`m${n}`, 'v'] as const);
    const refused = ['x', null as never] as const;
    for (const entries of [
      [...small, refused],
      [...small, ...more, refused],
    ]) {
      await vitest.expect(store.setMany(entries)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
      vitest.expect(await store.keys('')).toEqual([]);
    }
    vitest.expect(calls).toEqual(['INSERT', 'transaction', 'INSERT', 'INSERT']);
    await store.setMany([...small, ...more]);
    vitest.expect((await store.keys('')).length).toBe(79);
    await store.delete([...small, ...more].map(([key]) => key));
    vitest.expect(await store.keys('')).toEqual([]);
  });
});
