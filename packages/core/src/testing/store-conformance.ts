import type { Awaitable } from '../event/hook.ts';
import type { KeyValueStore } from '../memory/store/key-value-store.ts';
import type { TestFramework } from './test-framework.ts';

/**
 * Defines the tests that every `KeyValueStore` must pass, with the given functions of vitest. Each
 * test uses its own keys, so `makeStore` may always return the same store.
 */
export function keyValueStoreConformance(
  { describe, expect, test: define }: TestFramework,
  name: string,
  makeStore: () => Awaitable<KeyValueStore>,
): void {
  const test = (
    title: string,
    run: (store: KeyValueStore, key: (suffix: string) => string) => Promise<void>,
  ): unknown =>
    define(title, async () => {
      const prefix = `conformance:${crypto.randomUUID()}:`;
      await run(await makeStore(), (suffix) => prefix + suffix);
    });

  describe(`${name} is a KeyValueStore`, () => {
    test('a key that was never set has no value', async (store, key) => {
      expect(await store.get(key('a'))).toBeUndefined();
      expect(await store.getMany([key('a'), key('b')])).toEqual(new Map());
      expect(await store.keys(key(''))).toEqual([]);
    });

    test('a value is read unchanged and can be overwritten', async (store, key) => {
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

    test('setMany writes many values, and getMany reads those that exist', async (store, key) => {
      const entries = Array.from({ length: 250 }, (_, n) => [key(`n${n}`), String(n)] as const);
      await store.setMany(entries);
      const found = await store.getMany([...entries.map(([each]) => each), key('absent')]);
      expect(found.size).toBe(250);
      expect(entries.every(([each, value]) => found.get(each) === value)).toBe(true);
      await store.setMany([]);
      expect((await store.getMany([])).size).toBe(0);
    });

    test('delete removes the keys and ignores absent keys', async (store, key) => {
      await store.setMany(['a', 'b', 'c'].map((suffix) => [key(suffix), '1'] as const));
      await store.delete([key('a'), key('absent'), key('c')]);
      await store.delete([]);
      expect(await store.keys(key(''))).toEqual([key('b')]);
      expect(await store.get(key('a'))).toBeUndefined();
    });

    test('keys with a prefix are listed in code-point order', async (store, key) => {
      const suffixes = ['B', 'a:10', 'a:2', 'a:9', 'a;', 'b', '~'];
      await store.setMany(suffixes.toReversed().map((suffix) => [key(suffix), '0'] as const));
      expect(await store.keys(key(''))).toEqual(suffixes.map(key));
      expect(await store.keys(key('a:'))).toEqual(['a:10', 'a:2', 'a:9'].map(key));
      expect(await store.keys(key('c'))).toEqual([]);
    });

    test('a key may have 512 ASCII characters', async (store, key) => {
      const long = key('').padEnd(512, '-_.!~*()%2F:');
      await store.set(long, '1');
      expect(await store.get(long)).toBe('1');
      expect(await store.keys(key(''))).toEqual([long]);
      await store.delete([long]);
    });

    test('the features are stated correctly', async (store) => {
      expect(store.features.maxValueBytes).toBeGreaterThan(0);
      expect(store.compareAndSet !== undefined).toBe(store.features.compareAndSet);
    });

    test('one of several concurrent calls of compareAndSet succeeds', async (store, key) => {
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

    test('if the store has setManyIf, it writes all entries or none', async (store, key) => {
      if (!store.setManyIf) return;
      const names = [key('a'), key('b')];
      const write = (expected: string | undefined, value: string): Promise<boolean> =>
        store.setManyIf!(
          names[0]!,
          expected,
          names.map((each) => [each, value]),
        );
      expect(await write('0', '1')).toBe(false);
      expect(await store.getMany(names)).toEqual(new Map());
      expect(await write(undefined, '1')).toBe(true);
      expect(await write('0', '2')).toBe(false);
      expect([...(await store.getMany(names)).values()]).toEqual(['1', '1']);
    });
  });
}
