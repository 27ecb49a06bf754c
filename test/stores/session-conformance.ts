import { AgentError, SessionMemory, userMessage, type KeyValueStore } from '@isoloop/core';
import { repairSession } from '@isoloop/core/memory';
import type { TestFramework } from '@isoloop/core/testing';
import { lies, lyingStore, type Lie } from './lying-store.ts';

/**
 * Defines the tests of sessions on a store of ours, with the given functions of vitest. Each test
 * uses its own session, so `makeStore` may always return the same store.
 */
export function sessionConformance(
  { describe, expect, test }: TestFramework,
  name: string,
  makeStore: () => KeyValueStore | Promise<KeyValueStore>,
): void {
  const setUp = async (): Promise<{ store: KeyValueStore; key: (suffix: string) => string }> => {
    const store = await makeStore();
    const prefix = `conformance:${crypto.randomUUID()}:`;
    return { store, key: (suffix) => prefix + suffix };
  };

  describe(`${name} keeps sessions`, () => {
    test('with compareAndSet, concurrent writers of a session lose nothing; without it, a writer restores its records at its next write and warns once', async () => {
      const { store, key } = await setUp();
      const sessionId = key('writers');
      const warnings: string[] = [];
      const open = (): SessionMemory =>
        new SessionMemory(store, sessionId, { onWarning: ({ code }) => void warnings.push(code) });
      const writers = [open(), open()];
      const write = async (writer: SessionMemory, id: string): Promise<void> =>
        writer.append([userMessage(id, { id })]);
      await Promise.all(writers.map((writer) => writer.read()));
      await Promise.all(writers.map((writer, index) => write(writer, `at once ${index}`)));
      if (!store.compareAndSet)
        for (const round of [1, 2])
          for (const [index, writer] of writers.entries()) await write(writer, `${round} ${index}`);
      const ids = (await open().read()).map(({ id }) => id);
      const detectsWriters = store.compareAndSet !== undefined;
      expect(ids.filter((id) => id.startsWith('at once')).toSorted()).toEqual([
        'at once 0',
        'at once 1',
      ]);
      expect(ids.length).toBe(detectsWriters ? 2 : 6);
      expect(warnings).toEqual(detectsWriters ? [] : ['SESSION_CONFLICT', 'SESSION_CONFLICT']);
    });

    test('a host can refuse a store without compareAndSet', async () => {
      const { store, key } = await setUp();
      const open = async (): Promise<SessionMemory> =>
        new SessionMemory(store, key('refused'), { requireCompareAndSet: true });
      const code = await open().then(
        ({ features }) => (features.compareAndSet ? 'none' : 'opened'),
        (error: unknown) => AgentError.from(error).code,
      );
      expect(code).toBe(store.compareAndSet ? 'none' : 'CONFIGURATION');
    });

    for (const lie of lies) {
      test(`if the store has compareAndSet and ${lie}, a session stores each message once, or reports an error`, async () => {
        const { store, key } = await setUp();
        if (!store.compareAndSet) return;
        for (let at = 0; at < 4; at += 1)
          expect(await talkWith(store, { sessionId: key(`${lie} ${at}`), lie, at })).toEqual({
            ids: ['0', '1', '2', '3', '4'],
            hasError: lie === 'said yes but did not write' || lie === 'lost the answer',
            codes: [],
          });
      });
    }

    test('a session with another format is refused with a code, and nothing is written', async () => {
      const { store, key } = await setUp();
      for (const format of [1, 3, 4, 5]) {
        const sessionId = key(String(format));
        const prefix = `s:${encodeURIComponent(sessionId)}:`;
        const ref = '00000001-a';
        const head = { v: format, version: 1, writerId: 'w', logId: 'c', refs: [[ref]] };
        const batch = { v: format, records: [] };
        await store.setMany([
          [`${prefix}r:${ref}`, JSON.stringify(batch)],
          [`${prefix}head`, JSON.stringify(head)],
        ]);
        const values = async (): Promise<ReadonlyMap<string, string>> =>
          store.getMany(await store.keys(prefix));
        const before = await values();
        const memory = new SessionMemory(store, sessionId, { onDamage: () => {} });
        for (const operation of [
          () => memory.read(),
          () => memory.append([userMessage('Hello.')]),
          () => repairSession(store, sessionId),
        ]) {
          const error: unknown = await operation().catch((thrown: unknown) => thrown);
          const { code, details } = AgentError.from(error);
          expect([code, details?.['format']]).toEqual(['STORAGE_FAILED', format]);
        }
        expect(await values()).toEqual(before);
        expect(before.size).toBe(2);
      }
    });
  });
}

/**
 * Writes messages to a session while the store lies once, and reads them with another memory.
 * `codes`: codes of errors other than `STORAGE_FAILED`.
 */
async function talkWith(
  inner: KeyValueStore,
  { sessionId, lie, at }: { readonly sessionId: string; readonly lie: Lie; readonly at: number },
): Promise<{
  readonly ids: readonly string[];
  readonly hasError: boolean;
  readonly codes: readonly string[];
}> {
  const { store } = lyingStore(inner, lie, at);
  const memory = new SessionMemory(store, sessionId, { sleep: async () => {} });
  const codes: string[] = [];
  const note = (error: unknown): void => void codes.push(AgentError.from(error).code);
  for (const id of ['0', '1', '2', '3', '4'])
    await memory.append([userMessage(id, { id })]).catch(note);
  await memory.flush().catch(note);
  await memory.flush();
  const messages = await new SessionMemory(inner, sessionId).read();
  return {
    ids: messages.map(({ id }) => id),
    hasError: codes.length > 0,
    codes: codes.filter((code) => code !== 'STORAGE_FAILED'),
  };
}
