import { promisifyRequest, type UseStore } from 'idb-keyval';
import { nextMacrotask } from '../wire/macrotask.ts';

/** Name of the object store with all values. */
const storeName = 'values';

/** What the opening of a database needs besides the name of the database. */
interface OpenOptions {
  /** Milliseconds after which the opening or an operation that has not ended fails. */
  readonly timeoutMs: number;
  /** Called if the database is new, or has lost its object store. */
  onCreated(): void;
  /** Called when the connection can no longer be used. */
  onLost(): void;
}

/** The database did not answer in time. The outcome of a write may be unknown. */
export class DatabaseTimeout extends Error {
  override readonly name = 'DatabaseTimeout';
}

/**
 * Opens a database, and returns a function that runs an operation in a transaction. Each operation
 * ends: if the browser closes the connection, it rejects with `null`, and after `timeoutMs` with a
 * `DatabaseTimeout`. A browser that closes a connection may send no event to its transactions. An
 * operation that failed has written nothing, unless it was committing when the time was over.
 */
export async function openConnection(database: string, options: OpenOptions): Promise<UseStore> {
  const { timeoutMs, onLost } = options;
  const db = await openDatabase(database, options);
  /** Functions that reject the running operations. */
  const running = new Set<(error: unknown) => void>();
  db.addEventListener('close', () => {
    onLost();
    for (const lose of running) lose(null);
  });
  // Closes the connection if another tab deletes or upgrades the database, because that tab would
  // otherwise wait until all other tabs close. Running transactions end first.
  db.addEventListener('versionchange', () => {
    onLost();
    db.close();
  });
  return async (mode, operation) => {
    const transaction = db.transaction(storeName, mode);
    let lose: ((error: unknown) => void) | undefined;
    try {
      return await withTimeout(timeoutMs, async (reject) => {
        lose = reject;
        running.add(reject);
        return await operation(transaction.objectStore(storeName));
      });
    } catch (error) {
      abort(transaction);
      if (error instanceof DatabaseTimeout) {
        onLost();
        db.close();
      }
      throw error;
    } finally {
      if (lose) running.delete(lose);
    }
  };
}

/**
 * Opens the database. A database without its store gets one in a new version: a browser may lose
 * the store (jakearchibald/idb-keyval#134), and any `indexedDB.open` creates an empty database.
 */
async function openDatabase(
  database: string,
  options: OpenOptions,
  version?: number,
): Promise<IDBDatabase> {
  const request = indexedDB.open(database, version);
  let isLate = false;
  request.addEventListener('upgradeneeded', () => {
    if (isLate) return request.transaction?.abort();
    request.result.createObjectStore(storeName);
    options.onCreated();
  });
  // A connection that nobody uses would block the upgrades of other tabs.
  request.addEventListener('success', () => isLate && request.result.close());
  // Safari may never answer, and another tab may keep an older version open.
  const opening = withTimeout(options.timeoutMs, () => promisifyRequest(request));
  const db = await opening.finally(() => (isLate = true));
  if (db.objectStoreNames.contains(storeName)) return db;
  db.close();
  return openDatabase(database, options, db.version + 1);
}

/** Runs an operation that its argument can reject. Rejects with `DatabaseTimeout` if it is late. */
async function withTimeout<T>(
  timeoutMs: number,
  operation: (lose: (error: unknown) => void) => Promise<T>,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(async () => {
        // After the sleep of a computer, the timer may come before an answer that is there.
        await nextMacrotask();
        const reason = `no answer for ${timeoutMs} ms. Another tab may hold the database`;
        reject(new DatabaseTimeout(`${reason}; close the other tabs of the site, or try again`));
      }, timeoutMs);
      operation(reject).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Aborts a transaction, so that it writes nothing later. It may be committing already. */
function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch {
    // The transaction has ended.
  }
}
