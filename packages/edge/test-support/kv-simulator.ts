import type { VirtualClock } from './virtual-clock.ts';

export interface KvSimulatorOptions {
  readonly clock: VirtualClock;
  /** Numbers from 0 to below 1. */
  readonly random: () => number;
  /**
   * What happens to a second write of a key within a second: 429, or nothing is said and one of the
   * two holds.
   */
  readonly rate: 'error' | 'silent';
  /**
   * What a location's reads give that are not cached there: the newest value, or one that may be up
   * to a minute old, too.
   */
  readonly uncached: 'new' | 'late';
  /** How often a write fails, with or without effect; from 0 to 1. */
  readonly failures: number;
}

interface Version {
  readonly at: number;
  readonly value: string | null;
}

const maxAge = 60_000;
const latency = 40;

/**
 * Workers KV as it is in production and not in the emulator: what a location has read, or found
 * absent, it may show for a minute; a write of its own shows there at once as a rule, not always; a
 * key takes one write a second; the last write wins.
 */
export class KvSimulator {
  /** Of each key all values, in their order. */
  readonly versions = new Map<string, Version[]>();
  readonly #options: KvSimulatorOptions;
  readonly #caches = new Map<
    string,
    Map<string, { readonly value: string | null; readonly until: number }>
  >();

  constructor(options: KvSimulatorOptions) {
    this.#options = options;
  }

  /** What is there in truth. */
  value(key: string): string | null {
    return this.versions.get(key)?.at(-1)?.value ?? null;
  }

  /** The namespace as a location sees it. */
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

  /** Whether it holds. */
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
