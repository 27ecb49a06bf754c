import { AgentError, errorText, type KeyValueStore } from '@isoloop/core';
import { checkOptions, string, optional, positive, type OptionTable } from '@isoloop/core/options';
import { retryableOnce, timerMs } from '@isoloop/core/wait';
import type { StoreFeatures } from '@isoloop/core/memory';
import { get, getMany, promisifyRequest, type UseStore } from 'idb-keyval';
import { DatabaseTimeout, openConnection } from './indexed-db-connection.ts';

/** The database in IndexedDB, and how long to wait for it. */
export interface IndexedDbStoreOptions {
  /** Name of the database. Do not use the same name for other data. Default: `isoloop`. */
  readonly database?: string;
  /**
   * Milliseconds that the store waits for the database to open, and for each read or write. Then
   * the operation rejects with `STORAGE_FAILED`, which is retryable. A database does not open while
   * another tab holds an older version of it. Default: 10,000.
   */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 10_000;

/**
 * Maximum number of attempts per operation. If the browser closed the connection, the next attempt
 * opens a new one.
 */
const maxAttempts = 3;

/**
 * Key-value store in IndexedDB, which all tabs and workers of an origin share. The browser may
 * delete the whole database to free storage, and the user may clear it. The next operation then
 * rejects once with `SESSION_DELETED`. Later operations use an empty database. Each operation ends,
 * also if the browser closes the connection or never answers.
 */
export class IndexedDbStore implements KeyValueStore {
  /**
   * The limit of 32 MiB is below the limit of Chromium, which refuses values of 127 MiB. Chromium
   * may store a string with two bytes per character.
   */
  readonly features: StoreFeatures = {
    atomic: true,
    compareAndSet: true,
    maxValueBytes: 32 * 1024 * 1024,
  };
  readonly #databaseName: string;
  readonly #timeoutMs: number;
  #withStore: UseStore | undefined;
  /** Whether this store has opened the database before. */
  #wasOpened = false;
  /** Whether the database was deleted after this store had opened it. */
  #isEvicted = false;

  constructor(options: IndexedDbStoreOptions = {}) {
    checkOptions('IndexedDbStore', options, indexedDbStoreOptions);
    this.#databaseName = options.database ?? 'isoloop';
    this.#timeoutMs = timerMs(options.timeoutMs ?? defaultTimeoutMs);
  }

  get(key: string): Promise<string | undefined> {
    return this.#run((withStore) => get<string>(key, withStore));
  }

  async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const values = await this.#run((withStore) => getMany<string>([...keys], withStore));
    return new Map(
      keys.flatMap((key, index) => (values[index] === undefined ? [] : [[key, values[index]]])),
    );
  }

  set(key: string, value: string): Promise<void> {
    return this.setMany([[key, value]]);
  }

  setMany(entries: readonly (readonly [key: string, value: string])[]): Promise<void> {
    return this.#write((store) => {
      for (const [key, value] of entries) store.put(value, key);
    });
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.#write((store) => {
      for (const key of keys) store.delete(key);
    });
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const range = IDBKeyRange.bound(prefix, `${prefix}\uffff`);
    return this.#run((withStore) =>
      withStore('readonly', (store) => promisifyRequest(store.getAllKeys(range))),
    ) as Promise<string[]>;
  }

  compareAndSet(key: string, expected: string | undefined, value: string): Promise<boolean> {
    return this.#run((withStore, attempt) =>
      withStore('readwrite', async (store) => {
        let current: unknown;
        const request = store.get(key);
        request.addEventListener('success', () => {
          current = request.result;
          if (current === expected) store.put(value, key);
        });
        await commitOf(store.transaction);
        const isEqual = current === expected;
        // An earlier attempt may have written the value before its connection was lost.
        return isEqual || (attempt > 1 && current === value);
      }),
    );
  }

  #write(change: (store: IDBObjectStore) => void): Promise<void> {
    return this.#run((withStore) =>
      withStore('readwrite', (store) => {
        change(store);
        return commitOf(store.transaction);
      }),
    );
  }

  /**
   * Returns a connection that opens at its first use. If it cannot be opened, its next use tries
   * again. After the browser has closed it, the next operation uses a new one.
   */
  #connect(): UseStore {
    const openOnce = retryableOnce(async () => {
      const connection = await openConnection(this.#databaseName, {
        timeoutMs: this.#timeoutMs,
        onCreated: () => (this.#isEvicted = this.#wasOpened),
        onLost: () => this.#forget(withStore),
      });
      this.#wasOpened = true;
      return connection;
    });
    const withStore: UseStore = async (mode, callback) => {
      const connection = await openOnce();
      if (this.#isEvicted) {
        this.#isEvicted = false;
        throw new AgentError(
          'SESSION_DELETED',
          "The site's data was deleted, by a person or by the browser. A new message begins a new session.",
        );
      }
      return connection(mode, callback);
    };
    return withStore;
  }

  /** Lets the next operation connect again, unless another one has done so. */
  #forget(connection: UseStore): void {
    if (this.#withStore === connection) this.#withStore = undefined;
  }

  async #run<T>(operation: (withStore: UseStore, attempt: number) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const withStore = (this.#withStore ??= this.#connect());
      try {
        return await operation(withStore, attempt);
      } catch (error) {
        if (AgentError.is(error)) throw error;
        if (attempt === maxAttempts || !isConnectionLost(error)) throw storageError(error);
        this.#forget(withStore);
      }
    }
  }
}

const indexedDbStoreOptions: OptionTable<IndexedDbStoreOptions> = {
  database: optional(string),
  timeoutMs: optional(positive),
};

/**
 * Resolves when the transaction commits, and rejects with its error when it aborts. Waits for the
 * `abort` event, because `transaction.error` is still `null` at the `error` event of a request.
 */
function commitOf(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.addEventListener('complete', () => resolve());
    transaction.addEventListener('abort', () => reject(transaction.error));
  });
}

/**
 * Returns whether the browser has closed the connection. Browsers do this in background tabs, and
 * send no event. WebKit reports "Connection to Indexed Database server lost" and Chromium "Internal
 * error opening backing store". Both are an `UnknownError`. An operation on a closing connection
 * fails with `InvalidStateError`. An interrupted transaction fails with `AbortError`, or with
 * `null` as its error.
 */
function isConnectionLost(error: unknown): boolean {
  return (
    error === null || ['InvalidStateError', 'UnknownError', 'AbortError'].includes(nameOf(error))
  );
}

function storageError(cause: unknown): AgentError {
  if (nameOf(cause) === 'QuotaExceededError') {
    return new AgentError('STORAGE_QUOTA', 'The browser has no room left for this site.', {
      cause,
    });
  }
  const reason = cause === null ? 'the connection was lost' : errorText(cause);
  return new AgentError('STORAGE_FAILED', `The browser's database failed: ${reason}`, {
    cause,
    retryable: isConnectionLost(cause) || cause instanceof DatabaseTimeout,
  });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
