import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { createMessage, SessionMemory, type KeyValueStore } from '@isoloop/core';
import { keyValueStoreConformance, memoryConformance } from '@isoloop/core/testing';
import * as vitest from 'vitest';
import { DurableStore } from './durable-store.ts';

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
memoryConformance(
  vitest,
  'SessionMemory on a DurableStore',
  (id) => new SessionMemory(hostedStore('memory'), id),
  { persistent: true },
);

vitest.test('a step of a session is one transaction, and waits for the disk once', async () => {
  await runInDurableObject(hosts.get(hosts.newUniqueId()), async (_, { storage }) => {
    const calls: string[] = [];
    const store = new DurableStore({
      sql: storage.sql,
      transactionSync: (closure: () => unknown) => {
        calls.push('transaction');
        return storage.transactionSync(closure);
      },
      sync: () => {
        calls.push('sync');
        return storage.sync();
      },
    } as never);
    const memory = new SessionMemory(store, 's');
    await memory.append([createMessage('user', 'A')]);
    vitest.expect(calls).toEqual(['transaction', 'sync']);
    await memory.append([createMessage('assistant', 'B')]);
    vitest.expect(calls).toEqual(['transaction', 'sync', 'transaction', 'sync']);
  });
});
