import { AgentError, errorText, type KeyValueStore } from '@isoloop/core';
import type { StoreFeatures } from '@isoloop/core/memory';
import { inPages } from './in-pages.ts';

/**
 * Maximum size of a value, in bytes. Cloudflare's limit is 2 MB for a row with its key:
 * https://developers.cloudflare.com/durable-objects/platform/limits/
 */
const maxValueBytes = 2_000_000 - 4096;
/** Maximum number of parameters in one SQL statement. */
const maxParameters = 100;
/** Maximum number of keys and values that one SQL statement writes. */
const maxEntries = maxParameters / 2;

type Entry = readonly [key: string, value: string];

/**
 * Key-value store in the SQLite database of a Durable Object, in the table `isoloop_values`. Create
 * the store with the object's `ctx.storage`. The migrations in `wrangler.toml` must list the
 * object's class under `new_sqlite_classes`. A write resolves when the data is on disk.
 */
export class DurableStore implements KeyValueStore {
  readonly features: StoreFeatures = { atomic: true, compareAndSet: true, maxValueBytes };
  readonly #storage: DurableObjectStorage;

  /** Throws `CONFIGURATION` if the object has no SQLite database. */
  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    try {
      storage.sql.exec(
        'CREATE TABLE IF NOT EXISTS isoloop_values (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
      );
    } catch (cause) {
      const advice = 'Name its class under new_sqlite_classes in the migrations of wrangler.toml.';
      throw new AgentError(
        'CONFIGURATION',
        `The Durable Object has no SQLite database. ${advice}`,
        { cause },
      );
    }
  }

  async get(key: string): Promise<string | undefined> {
    return this.#run(() => this.#get(key));
  }

  async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#run(() => {
      const rows = inPages(keys, maxParameters).flatMap((page) => {
        const marks = page.map(() => '?').join();
        return [
          ...this.#storage.sql.exec<Row>(
            `SELECT key, value FROM isoloop_values WHERE key IN (${marks})`,
            ...page,
          ),
        ];
      });
      return new Map(rows.map(({ key, value }) => [key, value]));
    });
  }

  set(key: string, value: string): Promise<void> {
    return this.setMany([[key, value]]);
  }

  setMany(entries: readonly Entry[]): Promise<void> {
    const pages = inPages(entries, maxEntries);
    return this.#write(pages, () => this.#set(pages));
  }

  delete(keys: readonly string[]): Promise<void> {
    const pages = inPages(keys, maxParameters);
    return this.#write(pages, () => {
      for (const page of pages) {
        this.#storage.sql.exec(
          `DELETE FROM isoloop_values WHERE key IN (${page.map(() => '?').join()})`,
          ...page,
        );
      }
    });
  }

  async keys(prefix: string): Promise<readonly string[]> {
    return this.#run(() => {
      // Keys are ASCII, so all keys with the prefix sort before the prefix plus `\x7f`.
      const rows = this.#storage.sql.exec<Pick<Row, 'key'>>(
        'SELECT key FROM isoloop_values WHERE key >= ? AND key < ? ORDER BY key',
        prefix,
        `${prefix}\x7f`,
      );
      return [...rows].map(({ key }) => key);
    });
  }

  compareAndSet(key: string, expected: string | undefined, value: string): Promise<boolean> {
    return this.setManyIf(key, expected, [[key, value]]);
  }

  setManyIf(
    key: string,
    expected: string | undefined,
    entries: readonly Entry[],
  ): Promise<boolean> {
    const pages = inPages(entries, maxEntries);
    return this.#write(pages, () => {
      if (this.#get(key) !== expected) return false;
      this.#set(pages);
      return true;
    });
  }

  #get(key: string): string | undefined {
    const [row] = this.#storage.sql.exec<Row>(
      'SELECT key, value FROM isoloop_values WHERE key = ?',
      key,
    );
    return row?.value;
  }

  #set(pages: readonly (readonly Entry[])[]): void {
    for (const page of pages) {
      this.#storage.sql.exec(
        `INSERT OR REPLACE INTO isoloop_values (key, value) VALUES ${page.map(() => '(?, ?)').join()}`,
        ...page.flat(),
      );
    }
  }

  #run<T>(operation: () => T): T {
    try {
      return operation();
    } catch (cause) {
      throw storageError(cause);
    }
  }

  /** Runs an operation that writes one statement per page. Waits until the data is on disk. */
  async #write<T>(pages: readonly unknown[], operation: () => T): Promise<T> {
    // A single statement takes effect as a whole, without the cost of a transaction.
    const isOne = pages.length < 2;
    const result = this.#run(() =>
      isOne ? operation() : this.#storage.transactionSync(operation),
    );
    try {
      await this.#storage.sync();
    } catch (cause) {
      throw storageError(cause);
    }
    return result;
  }
}

interface Row extends Record<string, SqlStorageValue> {
  readonly key: string;
  readonly value: string;
}

function storageError(cause: unknown): AgentError {
  const message = errorText(cause);
  if (/SQLITE_FULL|storage limit|too big|SQLITE_TOOBIG/i.test(message)) {
    return new AgentError(
      'STORAGE_QUOTA',
      'The Durable Object has no room left: the conversation could not be saved.',
      { cause },
    );
  }
  return new AgentError('STORAGE_FAILED', `The Durable Object's database failed: ${message}`, {
    cause,
    retryable: true,
  });
}
