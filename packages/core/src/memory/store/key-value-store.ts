/** A key with the value to write. */
export type Entry = readonly [key: string, value: string];

/** What a store guarantees and how large its values may be. */
export interface StoreFeatures {
  /** Whether `setMany` writes all entries or none. */
  readonly atomic: boolean;
  /** Whether the store has `compareAndSet`. */
  readonly compareAndSet: boolean;
  /** Largest size of one value, in UTF-8 bytes. */
  readonly maxValueBytes: number;
  /**
   * Whether the store deletes values after some time, the oldest first (time to live). Default:
   * false.
   */
  readonly expires?: boolean;
}

/**
 * A place for sessions and other data of agents, such as a database. Keys are ASCII, values are
 * JSON text. Failures reject with `STORAGE_QUOTA` or `STORAGE_FAILED`. Test your own store with
 * `keyValueStoreConformance()` of `@isoloop/core/testing`.
 */
export interface KeyValueStore {
  readonly features: StoreFeatures;
  get(key: string): Promise<string | undefined>;
  /** Returns the values of the keys that exist. Accepts any number of keys. */
  getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  set(key: string, value: string): Promise<void>;
  /**
   * Writes several values. A store that is not `atomic` writes them in this order and stops at the
   * first failure.
   */
  setMany(entries: readonly Entry[]): Promise<void>;
  /** Deletes keys. Ignores keys that do not exist. */
  delete(keys: readonly string[]): Promise<void>;
  /**
   * Returns the keys with this prefix, in code-point order. In an eventually consistent store, the
   * list may lag behind writes.
   */
  keys(prefix: string): Promise<readonly string[]>;
  /**
   * Writes `value` only if the current value of the key is `expected` (`undefined`: no value).
   * Returns whether it wrote `value`.
   */
  compareAndSet?(key: string, expected: string | undefined, value: string): Promise<boolean>;
  /**
   * Writes all entries in one step, only if the current value of the key is `expected`. Returns
   * whether it wrote them. A store that has this method also has `compareAndSet`. Default: sessions
   * write twice, with `setMany` and `compareAndSet`.
   */
  setManyIf?(
    key: string,
    expected: string | undefined,
    entries: readonly Entry[],
  ): Promise<boolean>;
}

/** The part of a store that keeps summaries of long conversations. */
export type SummaryStore = Pick<KeyValueStore, 'get' | 'set' | 'delete'>;
