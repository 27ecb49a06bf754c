import type { VirtualClock } from './virtual-clock.ts';

export interface KvSimulatorOptions {
  readonly clock: VirtualClock;
  /** Returns random numbers from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /**
   * Result of a second write of a key within one second. `error`: the write fails with status 429.
   * `silent`: KV keeps one of the two values.
   */
  readonly rate: 'error' | 'silent';
  /**
   * Result of a read of a key that the location has not cached. `new`: the newest value. `late`: in
   * one of five reads, a value that is up to a minute old.
   */
  readonly uncached: 'new' | 'late';
  /**
   * Share of the writes that fail, from 0 to 1. Half of the failed writes still store their value.
   */
  readonly failures: number;
}

interface Version {
  readonly at: number;
  readonly value: string | null;
}

const maxAge = 60_000;
const latency = 40;

/**
 * Simulates the delays and limits of Workers KV in production, which the emulator does not have. A
 * location may return the result of a read for up to a minute, even if the key was missing. A
 * location usually sees its own writes at once. Each key accepts one write per second. The last
 * write of a key is kept.
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

  /** Returns the namespace as a location (such as a data center) sees it. */
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
