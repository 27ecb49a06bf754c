export interface StoreFeatures {
  /** `setMany` writes all or nothing. */
  readonly atomic: boolean;
  /** The store has `compareAndSet`. */
  readonly compareAndSet: boolean;
  /** UTF-8 bytes one value may have. */
  readonly maxValueBytes: number;
  /** Values may vanish by themselves, the oldest first: a time to live. Default false. */
  readonly expires?: boolean;
}

/**
 * What every place that keeps sessions offers. Keys are ASCII, values JSON text. Failures reject
 * with `STORAGE_QUOTA` or `STORAGE_FAILED`.
 */
export interface KeyValueStore {
  readonly features: StoreFeatures;
  get(key: string): Promise<string | undefined>;
  /** Only the keys that exist, however many are asked for. */
  getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  set(key: string, value: string): Promise<void>;
  /** A store that is not atomic writes in this order and stops at the first failure. */
  setMany(entries: readonly (readonly [key: string, value: string])[]): Promise<void>;
  /** Keys that do not exist are ignored. */
  delete(keys: readonly string[]): Promise<void>;
  /** In code-point order. May lag behind writes on an eventually consistent store. */
  keys(prefix: string): Promise<readonly string[]>;
  /**
   * Writes `value` only if the key now holds `expected` (`undefined`: holds nothing); says whether
   * it did.
   */
  compareAndSet?(key: string, expected: string | undefined, value: string): Promise<boolean>;
}
