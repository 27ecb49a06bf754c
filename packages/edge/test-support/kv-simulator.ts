import type { VirtualClock } from './virtual-clock.ts';

export interface KvSimulatorOptions {
  readonly clock: VirtualClock;
  /** Returns numbers from 0 to below 1. */
  readonly random: () => number;
  /**
   * Result of a second write of a key within a second. `error`: 429. `silent`: one of the two
   * values is kept.
   */
  readonly rate: 'error' | 'silent';
  /**
   * Result of reads that are not cached at the location. `new`: the newest value. `late`:
   * possibly a value that is up to a minute old.
   */
  readonly uncached: 'new' | 'late';
  /** Share of the writes that fail, with or without effect. From 0 to 1. */
  readonly failures: number;
}

interface Version {
  readonly at: number;
  readonly value: string | null;
}

const maxAge = 60_000;
const latency = 40;

/**
 * Simulates Workers KV as in production, which the emulator does not. A location may show a
 * value, or a missing key, for a minute after it read it. Its own writes usually show there at
 * once. A key takes one write per second. The last write wins.
 */
export class KvSimulator {
  /** All values of each key, in order. */
  readonly versions = new Map<string, Version[]>();
  readonly #options: KvSimulatorOptions;
  readonly #caches = new Map<
    string,
    Map<string, { readonly value: string | null; readonly until: number }>
  >();

  constructor(options: KvSimulatorOptions) {
    this.#options = options;
  }

  /** Returns the newest value of a key. */
  value(key: string): string | null {
    return this.versions.get(key)?.at(-1)?.value ?? null;
  }

  /** Returns the namespace as a location sees it. */
  at(location: string): KVNamespace {
    const cache =
      this.#caches.get(location) ??
      new Map<string, { readonly value: string | null; readonly until: number }>();
    this.#caches.set(location, cache);
    const { clock, random } = this.#options;
    const pass = (): Promise<void> => clock.sleep(1 + Math.floor(random() * latency));
    const read = (key: string): string | null => {
      const cached = cache.get(key);
      if (cached && clock.time < cached.until) return cached.value;
      const age = this.#options.uncached === 'late' && random() < 0.2 ? random() * maxAge : 0;
      const value =
        this.versions.get(key)?.findLast(({ at }) => at <= clock.time - age)?.value ?? null;
      cache.set(key, { value, until: clock.time + random() * (maxAge - age) });
      return value;
    };
    const write = async (key: string, value: string | null): Promise<void> => {
      await pass();
      const fails = random() < this.#options.failures;
      if (fails && random() < 0.5) throw new Error('KV PUT failed: 500 Internal Server Error');
      if (this.#put(key, value) && random() < 0.8)
        cache.set(key, { value, until: clock.time + random() * maxAge });
      await pass();
      if (fails) throw new Error('KV PUT failed: 500 Internal Server Error');
    };
    const kv = {
      get: async (key: string | readonly string[]) => {
        await pass();
        return typeof key === 'string' ? read(key) : new Map(key.map((each) => [each, read(each)]));
      },
      put: write,
      delete: (key: string) => write(key, null),
      list: async ({ prefix }: { readonly prefix: string }) => {
        await pass();
        const late = clock.time - random() * maxAge;
        const shown = (all: readonly Version[]): boolean =>
          typeof all.findLast(({ at }) => at <= late)?.value === 'string';
        const names = [...this.versions].flatMap(([name, all]) =>
          name.startsWith(prefix) && shown(all) ? [{ name }] : [],
        );
        return { list_complete: true, keys: names };
      },
    };
    return kv as unknown as KVNamespace;
  }

  /** Stores a value. Returns false if the value is dropped. */
  #put(key: string, value: string | null): boolean {
    const { clock, random, rate } = this.#options;
    const all = this.versions.get(key) ?? [];
    const last = all.at(-1);
    if (last && clock.time - last.at < 1000) {
      if (rate === 'error') throw new Error('KV PUT failed: 429 Too Many Requests');
      if (random() < 0.5) return false;
    }
    this.versions.set(key, [...all, { at: clock.time, value }]);
    return true;
  }
}
