import { AgentError, messageOf } from '@isoloop/core';
import type { KeyValueStore } from '@isoloop/core';
import type { StoreFeatures } from '@isoloop/core/adapter';
import { get, getMany, promisifyRequest } from 'idb-keyval';
import type { UseStore } from 'idb-keyval';

export interface IndexedDbStoreOptions {
  /** Name of the database; it holds nothing else. Default `isoloop`. */
  readonly database?: string;
}

/**
 * Times an operation is tried, each on a new connection, when the browser has killed the old one.
 */
const maxAttempts = 3;

/**
 * Values in the browser's own database, shared by all tabs and workers of an origin. Where all of
 * it was deleted meanwhile (evicted for room, or cleared by the user) the next operation rejects,
 * once, with `STORAGE_FAILED` and `details.evicted`; those after it begin anew.
 */
export class IndexedDbStore implements KeyValueStore {
  /** Chromium refuses values of 127 MiB; a text may take two bytes a character there. */
  readonly features: StoreFeatures = {
    atomic: true,
    compareAndSet: true,
    maxValueBytes: 32 * 1024 * 1024,
  };
  readonly #database: string;
  #use: UseStore | undefined;
  /** Whether the database was there before. */
  #known = false;
  #evicted = false;

  constructor({ database = 'isoloop' }: IndexedDbStoreOptions = {}) {
    this.#database = database;
  }

  get(key: string): Promise<string | undefined> {
    return this.#run((use) => get<string>(key, use));
  }

  async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const values = await this.#run((use) => getMany<string>([...keys], use));
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
    return this.#run((use) =>
      use('readonly', (store) => promisifyRequest(store.getAllKeys(range))),
    ) as Promise<string[]>;
  }

  compareAndSet(key: string, expected: string | undefined, value: string): Promise<boolean> {
    return this.#run((use, attempt) =>
      use('readwrite', async (store) => {
        const done = committed(store.transaction);
        const current: unknown = await promisifyRequest(store.get(key));
        const equal = current === expected;
        if (equal) store.put(value, key);
        await done;
        // An attempt before this one may have got through before its connection died.
        return equal || (attempt > 1 && current === value);
      }),
    );
  }

  #write(change: (store: IDBObjectStore) => void): Promise<void> {
    return this.#run((use) =>
      use('readwrite', (store) => {
        change(store);
        return committed(store.transaction);
      }),
    );
  }

  /** A connection of its own, opened at its first use, and again when the browser closed it. */
  #connect(): UseStore {
    let opening: Promise<IDBDatabase> | undefined;
    const opened = async (): Promise<IDBDatabase> => {
      const db = await open(this.#database, () => (this.#evicted = this.#known));
      this.#known = true;
      db.addEventListener('close', () => (opening = undefined));
      // Without this a tab that deletes the database waits for all others to close.
      db.addEventListener('versionchange', () => db.close());
      return db;
    };
    return async (mode, callback) => {
      const db = await (opening ??= opened());
      if (this.#evicted) {
        this.#evicted = false;
        throw evicted;
      }
      return callback(db.transaction('values', mode).objectStore('values'));
    };
  }

  async #run<T>(operation: (use: UseStore, attempt: number) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await operation((this.#use ??= this.#connect()), attempt);
      } catch (error) {
        if (error === evicted) {
          throw new AgentError(
            'STORAGE_FAILED',
            "The site's stored data was deleted, by the browser to make room or by the user.",
            {
              details: { evicted: true },
            },
          );
        }
        if (attempt === maxAttempts || !isConnectionLost(error)) throw storageError(error);
        this.#use = undefined;
      }
    }
  }
}

/** Thrown where the database turned out to be a new one. */
const evicted: unique symbol = Symbol('evicted');

function open(database: string, onCreated: () => void): Promise<IDBDatabase> {
  const request = indexedDB.open(database);
  request.addEventListener('upgradeneeded', () => {
    request.result.createObjectStore('values');
    onCreated();
  });
  return promisifyRequest(request);
}

/**
 * The reason stands on the transaction only once it is aborted: at the error of a request it is
 * still `null`.
 */
function committed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.addEventListener('complete', () => resolve());
    transaction.addEventListener('abort', () => reject(transaction.error));
  });
}

/**
 * A browser kills connections of background tabs without a word. WebKit: "Connection to Indexed
 * Database server lost", Chromium: "Internal error opening backing store", both an `UnknownError`;
 * a closing connection gives `InvalidStateError`, a transaction it cut off `AbortError` or no error
 * at all.
 */
function isConnectionLost(error: unknown): boolean {
  return (
    error === null || ['InvalidStateError', 'UnknownError', 'AbortError'].includes(nameOf(error))
  );
}

function storageError(cause: unknown): AgentError {
  if (nameOf(cause) === 'QuotaExceededError') {
    return new AgentError(
      'STORAGE_QUOTA',
      'The browser has no room left for this site: the conversation could not be saved',
      { cause },
    );
  }
  const reason = cause === null ? 'the connection was lost' : messageOf(cause);
  return new AgentError('STORAGE_FAILED', `The browser's database failed: ${reason}`, {
    cause,
    retryable: isConnectionLost(cause),
  });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
