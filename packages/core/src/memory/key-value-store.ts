export interface StoreFeatures {
  /** `setMany` writes all or nothing. */
  readonly atomic: boolean;
  /** The store has `compareAndSet`. */
  readonly compareAndSet: boolean;
  /** Largest size of one value, in UTF-8 bytes. */
  readonly maxValueBytes: number;
  /** Whether values expire by themselves, the oldest first (time to live). Default false. */
  readonly expires?: boolean;
}

/**
 * A store for sessions. Keys are ASCII, values are JSON text. Failures reject with `STORAGE_QUOTA`
 * or `STORAGE_FAILED`.
 */
export interface KeyValueStore {
  readonly features: StoreFeatures;
  get(key: string): Promise<string | undefined>;
  /** Returns only the keys that exist. Accepts any number of keys. */
  getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  set(key: string, value: string): Promise<void>;
  /** A store that is not atomic writes in this order and stops at the first failure. */
  setMany(entries: readonly (readonly [key: string, value: string])[]): Promise<void>;
  /** Keys that do not exist are ignored. */
  delete(keys: readonly string[]): Promise<void>;
  /** Returns keys in code-point order. May lag behind writes on an eventually consistent store. */
  keys(prefix: string): Promise<readonly string[]>;
  /**
   * Writes `value` only if the key now holds `expected` (`undefined`: no value). Returns whether it
   * wrote.
   */
  compareAndSet?(key: string, expected: string | undefined, value: string): Promise<boolean>;
}
