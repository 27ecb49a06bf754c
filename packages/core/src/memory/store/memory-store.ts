import { checkOptions } from '../../error/options/check-options.ts';
import { nonNegative, optional } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import type { Entry, KeyValueStore, StoreFeatures } from './key-value-store.ts';

/** Keeps sessions in this process, for tests and demos. The values live as long as the object. */
export class MemoryStore implements KeyValueStore {
  readonly features: StoreFeatures;
  readonly #values = new Map<string, string>();

  /** `maxValueBytes`: the limit that `features` reports. Default: no limit. */
  constructor(options: { readonly maxValueBytes?: number } = {}) {
    checkOptions('MemoryStore', options, memoryStoreOptions);
    this.features = {
      atomic: true,
      compareAndSet: true,
      maxValueBytes: options.maxValueBytes ?? Number.MAX_SAFE_INTEGER,
    };
  }

  async get(key: string): Promise<string | undefined> {
    return this.#values.get(key);
  }

  async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const entries = keys.map((key) => [key, this.#values.get(key)] as const);
    return new Map(entries.filter((entry): entry is Entry => entry[1] !== undefined));
  }

  async set(key: string, value: string): Promise<void> {
    this.#values.set(key, value);
  }

  async setMany(entries: readonly Entry[]): Promise<void> {
    for (const [key, value] of entries) this.#values.set(key, value);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#values.delete(key);
  }

  /** Sorts by code unit, which gives code-point order for ASCII keys. */
  async keys(prefix: string): Promise<readonly string[]> {
    return [...this.#values.keys()].filter((key) => key.startsWith(prefix)).toSorted();
  }

  async compareAndSet(key: string, expected: string | undefined, value: string): Promise<boolean> {
    if (this.#values.get(key) !== expected) return false;
    this.#values.set(key, value);
    return true;
  }
}

const memoryStoreOptions: OptionTable<{ readonly maxValueBytes?: number }> = {
  maxValueBytes: optional(nonNegative),
};
