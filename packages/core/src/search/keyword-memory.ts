import { AgentError } from '../error/agent-error.ts';
import { checkFields, checkOptions } from '../error/check-fields.ts';
import { reportFailure } from '../error/report-failure.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { abortable } from '../model/abortable.ts';
import type { KeyValueStore } from '../memory/key-value-store.ts';
import type {
  LongTermMemory,
  LongTermRecord,
  LongTermRecordOptions,
  LongTermRetrieveOptions,
} from './long-term-contract.ts';
import { formatVersion, parseRecord, RecordKeys, type StoredRecord } from './record-format.ts';
import { RecordIndex } from './record-index.ts';
import { searchTerms } from './search-terms.ts';
import { splitValue } from '../memory/split-value.ts';
import { stopWords } from './stop-words.ts';

export interface KeywordMemoryOptions {
  readonly store: KeyValueStore;
  /**
   * Owner of the memory, such as the id of a user. A search finds only records of its own
   * namespace. Default `default`.
   */
  readonly namespace?: string;
  /**
   * Maximum number of records. If there are more, the next retrieval deletes the oldest records.
   * Default 2,000.
   */
  readonly maxRecords?: number;
  /**
   * Words that the search ignores. Default: the most common words of English, Chinese, Japanese and
   * Korean.
   */
  readonly stopWords?: Iterable<string>;
  /**
   * Function that gets one error for each damaged record; the search continues without the record.
   * It also gets the error if old records cannot be deleted. Default: `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
  /**
   * Returns an id for a record: letters, digits and dashes. Two records of the same millisecond
   * must have different ids. Default: random.
   */
  readonly generateId?: () => string;
  /** Returns the current time in milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * Creates a long-term memory that uses a key-value store. It finds records by keywords, in any
 * language. Each call of `record` stores the text of its messages as one record under its own key,
 * and needs no other reads or writes.
 *
 * The first retrieval reads all records and builds an index in memory. Each later retrieval lists
 * the keys and reads only new records. Several instances can use the same store. An instance finds
 * its own records at once. It finds records of other instances when the store lists them: usually
 * at once, on Cloudflare KV within a minute.
 *
 * A delete removes the values from the store. If the store's list of keys is out of date, the
 * delete misses records that another instance has just written.
 *
 * Methods reject with the store's error (`STORAGE_QUOTA` or `STORAGE_FAILED`). Throws
 * `INVALID_INPUT` for a namespace that is empty or has more than 200 characters after
 * percent-encoding. Throws `CONFIGURATION` if `maxRecords` is not `Infinity` or a whole number
 * above 0.
 */
export function keywordMemory(options: KeywordMemoryOptions): LongTermMemory {
  return new KeywordMemory(options);
}

class KeywordMemory implements LongTermMemory {
  readonly #options: KeywordMemoryOptions;
  readonly #store: KeyValueStore;
  readonly #keys: RecordKeys;
  readonly #maxRecords: number;
  readonly #index: RecordIndex;
  /**
   * Keys that this instance deleted. The store's list of keys may be out of date, so these keys
   * must be ignored.
   */
  readonly #deleted = new Set<string>();
  readonly #damaged = new Set<string>();
  #writes: Promise<unknown> = Promise.resolve();
  #refreshing: Promise<void> | undefined;

  constructor(options: KeywordMemoryOptions) {
    checkOptions(
      'CONFIGURATION',
      'keywordMemory()',
      options,
      'store:object namespace:string|? maxRecords stopWords:iterator()|? ' +
        'onError,generateId,now:function|?',
    );
    const { store, namespace = 'default', maxRecords = 2_000 } = options;
    checkFields(
      'CONFIGURATION',
      'keywordMemory(): store',
      store,
      'get:function getMany:function set:function delete:function keys:function',
    );
    if (!(maxRecords >= 1 && (Number.isInteger(maxRecords) || maxRecords === Infinity))) {
      throw new AgentError(
        'CONFIGURATION',
        'keywordMemory(): maxRecords must be a whole number above 0',
      );
    }
    this.#options = options;
    this.#store = store;
    this.#keys = new RecordKeys(namespace);
    this.#maxRecords = maxRecords;
    this.#index = new RecordIndex(
      searchTerms({ stopWords: options.stopWords ? new Set(options.stopWords) : stopWords() }),
    );
  }

  async retrieve(
    query: string,
    options: LongTermRetrieveOptions = {},
  ): Promise<readonly LongTermRecord[]> {
    const { limit = 5, sessionId, exceptSessionId, signal } = options;
    try {
      // Concurrent retrievals share one read of the store.
      const fresh = (this.#refreshing ??= this.#refresh().finally(
        () => (this.#refreshing = undefined),
      ));
      await (signal ? abortable(fresh, signal) : fresh);
    } catch (error) {
      throw AgentError.from(error, signal?.aborted ? 'ABORTED' : 'STORAGE_FAILED');
    }
    const isWanted = (record: StoredRecord): boolean =>
      (sessionId === undefined || record.sessionId === sessionId) &&
      record.sessionId !== exceptSessionId;
    return this.#index
      .find(query, isWanted)
      .slice(0, limit)
      .map(({ key, record, score }) => ({
        id: this.#keys.ref(key),
        text: record.parts.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n'),
        sessionId: record.sessionId,
        createdAt: record.createdAt,
        score,
      }));
  }

  record(messages: readonly Msg[], { sessionId, signal }: LongTermRecordOptions): Promise<void> {
    return this.#write(async () => {
      const { generateId = () => crypto.randomUUID().slice(0, 8), now = Date.now } = this.#options;
      const parts = messages.map((message) => ({
        speaker: message.name ?? message.role,
        text: textOf(message).trim(),
      }));
      const said = parts.filter(({ text }) => text);
      if (said.length === 0) return;
      signal?.throwIfAborted();
      const at = now();
      const record: StoredRecord = {
        v: formatVersion,
        sessionId,
        createdAt: new Date(at).toISOString(),
        parts: said,
      };
      const values = splitValue(JSON.stringify(record), this.#store.features.maxValueBytes);
      const key = this.#keys.key(sessionId, at, generateId(), values.length);
      const entries = this.#keys
        .values(key)
        .map((each, part): readonly [string, string] => [each, values[part] ?? '']);
      // The first value is written last: if it exists, the record is complete.
      await this.#store.setMany(entries.toReversed());
      this.#index.add(key, record);
    });
  }

  delete(ids: readonly string[]): Promise<void> {
    return this.#write(async () => {
      const keys = ids
        .map((id) => this.#keys.prefix + id)
        .filter((key) => this.#keys.time(key) !== undefined);
      await this.#drop(keys.flatMap((key) => this.#keys.values(key)));
    });
  }

  deleteSession(sessionId: string): Promise<void> {
    return this.#write(() => this.#dropAll(this.#keys.session(sessionId)));
  }

  clear(): Promise<void> {
    return this.#write(() => this.#dropAll(this.#keys.prefix));
  }

  /**
   * Adds new records of the store to the index, and removes records that were deleted from the
   * store.
   */
  async #refresh(): Promise<void> {
    const known = this.#index.records;
    const listed = (await this.#store.keys(this.#keys.prefix)).filter(
      (key) => this.#keys.time(key) !== undefined,
    );
    const all = new Set(listed);
    for (const key of this.#deleted) if (!all.has(key)) this.#deleted.delete(key);

    const kept = listed.filter((key) => !this.#deleted.has(key));
    const old =
      kept.length > this.#maxRecords ? this.#newestFirst(kept).slice(this.#maxRecords) : [];
    const tooOld = new Set(old);
    const added = kept.filter(
      (key) => !known.has(key) && !this.#damaged.has(key) && !tooOld.has(key),
    );
    // A key that is not listed was deleted elsewhere, or it is so new that the list does not have
    // it yet. Its value shows which is the case.
    const unlisted = [...known.keys()].filter((key) => !all.has(key));
    const values = await this.#store.getMany([
      ...added.flatMap((key) => this.#keys.values(key)),
      ...unlisted,
    ]);

    for (const key of unlisted) if (!values.has(key)) this.#index.remove(key);
    for (const key of added) this.#take(key, values);
    if (old.length === 0) return;
    await this.#drop(old.flatMap((key) => this.#keys.values(key))).catch((error: unknown) =>
      this.#report(error),
    );
  }

  #take(key: string, values: ReadonlyMap<string, string>): void {
    const keys = this.#keys.values(key);
    const found = keys.flatMap((each) => values.get(each) ?? []);
    // The record was deleted after the list was read, or its values cannot be read yet. The next
    // retrieval tries again.
    if (found.length < keys.length || this.#deleted.has(key)) return;
    try {
      this.#index.add(key, parseRecord(key, found));
    } catch (error) {
      this.#damaged.add(key);
      this.#report(error);
    }
  }

  async #dropAll(prefix: string): Promise<void> {
    const known = [...this.#index.records.keys()]
      .filter((key) => key.startsWith(prefix))
      .flatMap((key) => this.#keys.values(key));
    await this.#drop([...new Set([...known, ...(await this.#store.keys(prefix))])]);
  }

  async #drop(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#deleted.add(key);
    try {
      await this.#store.delete(keys);
    } catch (error) {
      for (const key of keys) this.#deleted.delete(key);
      throw error;
    }
    for (const key of keys) this.#index.remove(key);
  }

  #newestFirst(keys: readonly string[]): readonly string[] {
    const times = new Map(keys.map((key) => [key, this.#keys.time(key) ?? '']));
    return keys.toSorted((a, b) => (times.get(a)! < times.get(b)! ? 1 : -1));
  }

  #report(error: unknown): void {
    const failure = AgentError.from(error, 'STORAGE_FAILED');
    reportFailure('KeywordMemory ignores a failure:', this.#options.onError, failure);
  }

  /**
   * Runs writes one at a time, in the order of their calls. A record that is written before a
   * delete therefore does not return after the delete.
   */
  #write(operation: () => Promise<void>): Promise<void> {
    const result = this.#writes.then(operation).catch((error: unknown) => {
      throw AgentError.from(error, 'STORAGE_FAILED');
    });
    this.#writes = result.catch(() => {});
    return result;
  }
}
