import type { Awaitable } from '../../event/hook.ts';
import { AgentError, errorText, fieldsOf } from '../../error/agent-error.ts';
import type { Entry, KeyValueStore, StoreFeatures } from './key-value-store.ts';
import { textChecksum } from '../../message/text.ts';
import { checkFields } from '../../error/options/check-fields.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { boolean, func, nonNegative, optional } from '../../error/options/kinds.ts';
import type { FieldTable, OptionTable } from '../../error/options/option-table.ts';

/** What `unstorageStore()` uses of a driver of `unstorage`. */
export interface UnstorageDriver {
  readonly name?: string;
  hasItem(key: string, options: object): Awaitable<boolean>;
  getItem(key: string, options: object): Awaitable<unknown>;
  getKeys(base: string, options: object): Awaitable<readonly string[]>;
  setItem?(key: string, value: string, options: object): Awaitable<void>;
  removeItem?(key: string, options: object): Awaitable<void>;
}

/** What a driver of `unstorage` guarantees. */
export interface UnstorageStoreOptions {
  /**
   * Whether only this process writes to the driver. The store then also has `compareAndSet`, so
   * that several sessions or agents of this process can write the same conversation. Default:
   * false.
   */
  readonly singleProcess?: boolean;
  /** Largest value that the driver accepts, in UTF-8 bytes. Default: no limit. */
  readonly maxValueBytes?: number;
}

/**
 * Keeps sessions in files, Redis, S3 or any other driver of `unstorage`.
 *
 * ```ts
 * const files = unstorageStore(fsDriver({ base: './sessions' }), { singleProcess: true });
 * const memory = new SessionMemory(files, 'ann');
 * ```
 *
 * Each value is stored with a checksum. A value that is overwritten is written twice, so that a
 * process that dies while writing leaves the old value or the new one.
 *
 * Throws `CONFIGURATION` for a driver that cannot write or list keys.
 */
export function unstorageStore(
  driver: UnstorageDriver,
  options: UnstorageStoreOptions = {},
): KeyValueStore {
  checkFields('unstorageStore(): the driver', driver, driverFields);
  checkOptions('unstorageStore()', options, unstorageStoreOptions);
  return new UnstorageStore(driver, options);
}

const driverFields: FieldTable<Required<UnstorageDriver>> = {
  getItem: func,
  setItem: func,
  removeItem: func,
  getKeys: func,
  hasItem: func,
};

const unstorageStoreOptions: OptionTable<UnstorageStoreOptions> = {
  singleProcess: optional(boolean),
  maxValueBytes: optional(nonNegative),
};

class UnstorageStore implements KeyValueStore {
  readonly features: StoreFeatures;
  readonly compareAndSet?: NonNullable<KeyValueStore['compareAndSet']>;
  readonly #driver: UnstorageDriver;
  /** The last operation on each key that has not ended. */
  readonly #lastOperations: Map<string, Promise<unknown>> = new Map();

  constructor(driver: UnstorageDriver, options: UnstorageStoreOptions) {
    const { singleProcess = false, maxValueBytes = Number.MAX_SAFE_INTEGER } = options;
    this.#driver = driver;
    this.features = { atomic: false, compareAndSet: singleProcess, maxValueBytes };
    if (!singleProcess) return;
    this.compareAndSet = (key, expected, value) =>
      this.#runInOrder(key, async () => {
        if ((await this.#read(key)) !== expected) return false;
        await this.#write(key, value);
        return true;
      });
  }

  get(key: string): Promise<string | undefined> {
    return this.#runInOrder(key, () => this.#read(key));
  }

  async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const entries = await Promise.all(keys.map(async (key) => [key, await this.get(key)] as const));
    return new Map(entries.filter((entry): entry is Entry => entry[1] !== undefined));
  }

  set(key: string, value: string): Promise<void> {
    return this.#runInOrder(key, () => this.#write(key, value));
  }

  async setMany(entries: readonly Entry[]): Promise<void> {
    for (const [key, value] of entries) await this.set(key, value);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys)
      await this.#runInOrder(key, async () => {
        // The copy first: alone, it would be read as the value.
        await this.#driver.removeItem!(copyOf(key), {});
        await this.#driver.removeItem!(toDriverKey(key), {});
      });
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const driverKeys = await this.#withStoreErrors(async () => this.#driver.getKeys('', {}));
    return driverKeys
      .flatMap((driverKey) => fromDriverKey(driverKey) ?? [])
      .filter((key) => key.startsWith(prefix))
      .toSorted();
  }

  async #read(key: string): Promise<string | undefined> {
    const text: unknown = await this.#driver.getItem(toDriverKey(key), {});
    const value = unframe(text);
    if (value !== undefined || text == null) return value;
    // The process died while it overwrote the value. The copy was written before.
    const copy = unframe(await this.#driver.getItem(copyOf(key), {}));
    if (copy !== undefined) return copy;
    const isFirst = !(await this.#driver.hasItem(copyOf(key), {}));
    // No write of this key has ended, so no caller knows of a value.
    if (isFirst) return undefined;
    throw new AgentError('STORAGE_FAILED', `The value of ${key} is damaged.`);
  }

  async #write(key: string, value: string): Promise<void> {
    const text = frame(value);
    const isNew = !(await this.#driver.hasItem(toDriverKey(key), {}));
    if (!isNew) await this.#driver.setItem!(copyOf(key), text, {});
    await this.#driver.setItem!(toDriverKey(key), text, {});
  }

  /** Runs the operations on a key one after the other. */
  #runInOrder<T>(key: string, operation: () => Promise<T>): Promise<T> {
    const previous = this.#lastOperations.get(key) ?? Promise.resolve();
    const result = previous.then(() => this.#withStoreErrors(operation));
    const end = (): void => {
      if (this.#lastOperations.get(key) === settled) this.#lastOperations.delete(key);
    };
    const settled: Promise<void> = result.then(end, end);
    this.#lastOperations.set(key, settled);
    return result;
  }

  async #withStoreErrors<T>(operation: () => Promise<T>): Promise<T> {
    try {
      return await operation();
    } catch (error) {
      if (AgentError.is(error)) throw error;
      const code = isFull(error) ? 'STORAGE_QUOTA' : 'STORAGE_FAILED';
      const message = `The driver "${this.#driver.name ?? 'unknown'}" failed: ${errorText(error)}`;
      throw new AgentError(code, message, { cause: error, retryable: code === 'STORAGE_FAILED' });
    }
  }
}

/** Returns the key of the second place of a value. `fromDriverKey` ignores it. */
function copyOf(key: string): string {
  return `${toDriverKey(key)}.copy`;
}

function isFull(error: unknown): boolean {
  const { code, name } = fieldsOf(error);
  return code === 'ENOSPC' || code === 'EDQUOT' || name === 'QuotaExceededError';
}

/**
 * Returns a value with a checksum. With it, the value is not JSON either, so that no driver parses
 * it.
 */
function frame(value: string): string {
  return `${textChecksum(value).toString(36)} ${value}`;
}

/** Returns the value; `undefined` if it is not whole, because its process died while writing. */
function unframe(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  const value = text.slice(text.indexOf(' ') + 1);
  return text === frame(value) ? value : undefined;
}

/** Maximum number of characters in one part of a key. File systems allow names of 255 bytes. */
const partLength = 120;

/**
 * Returns the key for a driver. Drivers make file names of it, so it has only lower-case letters,
 * digits and dashes: some file systems do not tell `A` from `a`. Other characters become their code
 * in hexadecimal between underscores. Long keys get several parts, which are folders on disk. The
 * last part ends in `.v`, so that no key is the folder of another one.
 */
export function toDriverKey(key: string): string {
  const name = key.replace(
    /[^a-z0-9-]/g,
    (character) => `_${character.charCodeAt(0).toString(16)}_`,
  );
  const parts = name.match(new RegExp(`.{1,${partLength}}`, 'g')) ?? [];
  return `${parts.join(':')}${suffix}`;
}

/**
 * Returns the store's key for a driver's key. Returns `undefined` if `toDriverKey` did not make
 * that key.
 */
function fromDriverKey(driverKey: string): string | undefined {
  if (!driverKey.endsWith(suffix)) return undefined;
  // The driver for files lists keys with `/` between their parts; other drivers may use `:` or `\`.
  const name = driverKey.slice(0, -suffix.length).replace(/[:/\\]/g, '');
  return name.replace(/_([0-9a-f]+)_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

const suffix = '.v';
