import type { Awaitable } from '../event/hook.ts';
import type { KeyValueStore } from '../memory/key-value-store.ts';
import type { TestFramework } from './test-framework.ts';

/**
 * Defines the tests that every `KeyValueStore` must pass, in the given vitest. They use their own
 * keys, so several may share one store.
 */
export function keyValueStoreConformance(
  { describe, expect, test }: TestFramework,
  name: string,
  makeStore: () => Awaitable<KeyValueStore>,
): void {
  const setUp = async (): Promise<{ store: KeyValueStore; key: (suffix: string) => string }> => {
    const store = await makeStore();
    const prefix = `conformance:${crypto.randomUUID()}:`;
    return { store, key: (suffix) => prefix + suffix };
  };

  describe(`${name} is a KeyValueStore`, () => {
    test('a key that was never set holds nothing', async () => {
      const { store, key } = await setUp();
      expect(await store.get(key('a'))).toBeUndefined();
      expect(await store.getMany([key('a'), key('b')])).toEqual(new Map());
      expect(await store.keys(key(''))).toEqual([]);
    });

    test('what was set is read back to the letter, and overwritten', async () => {
      const { store, key } = await setUp();
      const value = JSON.stringify({
        text: '東京 😀 "quoted" \\ \n é',
        lone: '\ud83d',
        long: 'x'.repeat(100_000),
      });
      await store.set(key('a'), value);
      expect(await store.get(key('a'))).toBe(value);
      await store.set(key('a'), '1');
      expect(await store.get(key('a'))).toBe('1');
    });

    test('many are written at once and read at once, only those that exist', async () => {
      const { store, key } = await setUp();
      const entries = Array.from({ length: 250 }, (_, n) => [key(`n${n}`), String(n)] as const);
      await store.setMany(entries);
      const found = await store.getMany([...entries.map(([each]) => each), key('absent')]);
      expect(found.size).toBe(250);
      expect(entries.every(([each, value]) => found.get(each) === value)).toBe(true);
      await store.setMany([]);
      expect((await store.getMany([])).size).toBe(0);
    });

    test('deleted keys are gone, absent ones are ignored', async () => {
      const { store, key } = await setUp();
      await store.setMany([
        [key('a'), '1'],
        [key('b'), '2'],
        [key('c'), '3'],
      ]);
      await store.delete([key('a'), key('absent'), key('c')]);
      await store.delete([]);
      expect(await store.keys(key(''))).toEqual([key('b')]);
      expect(await store.get(key('a'))).toBeUndefined();
    });

    test('keys come by prefix, in code-point order', async () => {
      const { store, key } = await setUp();
      const suffixes = ['B', 'a:10', 'a:2', 'a:9', 'a;', 'b', '~'];
      await store.setMany(suffixes.toReversed().map((suffix) => [key(suffix), '0'] as const));
      expect(await store.keys(key(''))).toEqual(suffixes.map(key));
      expect(await store.keys(key('a:'))).toEqual(['a:10', 'a:2', 'a:9'].map(key));
      expect(await store.keys(key('c'))).toEqual([]);
    });

    test('a key may have 512 ASCII characters', async () => {
      const { store, key } = await setUp();
      const long = key('').padEnd(512, '-_.!~*()%2F:');
      await store.set(long, '1');
      expect(await store.get(long)).toBe('1');
      expect(await store.keys(key(''))).toEqual([long]);
      await store.delete([long]);
    });

    test('the features are told truly', async () => {
      const { store } = await setUp();
      expect(store.features.maxValueBytes).toBeGreaterThan(0);
      expect(store.compareAndSet !== undefined).toBe(store.features.compareAndSet);
    });

    test('where it can compare and set, of writers at the same moment only one wins', async () => {
      const { store, key } = await setUp();
      const compareAndSet = store.compareAndSet?.bind(store);
      if (!compareAndSet) return;
      expect(await compareAndSet(key('a'), '0', '1')).toBe(false);
      expect(await store.get(key('a'))).toBeUndefined();
      expect(await compareAndSet(key('a'), undefined, '0')).toBe(true);
      expect(await compareAndSet(key('a'), undefined, '1')).toBe(false);
      expect(await compareAndSet(key('a'), '2', '0')).toBe(false);
      expect(await store.get(key('a'))).toBe('0');

      const increment = async (): Promise<void> => {
        for (;;) {
          const old = (await store.get(key('a'))) ?? '0';
          if (await compareAndSet(key('a'), old, String(Number(old) + 1))) return;
        }
      };
      await Promise.all(Array.from({ length: 20 }, increment));
      expect(await store.get(key('a'))).toBe('20');
    });
  });
}
