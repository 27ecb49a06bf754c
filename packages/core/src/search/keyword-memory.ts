import type MiniSearch from 'minisearch';
import { checkFields, checkOptions, type AgentError } from '../error/agent-error.ts';
import { reportFailure } from '../error/report-failure.ts';
import type { KeyValueStore } from '../memory/store/key-value-store.ts';
import { keyPrefix } from '../memory/store/storage-keys.ts';
import { isRecord } from '../message/json.ts';
import { textOf, type Msg } from '../message/msg.ts';
import type {
  LongTermMemory,
  LongTermRecord,
  LongTermRecordOptions,
  LongTermRetrieveOptions,
} from './long-term-memory.ts';
import { searchTerms } from './search-terms.ts';
import { StoredEntries } from './stored-entries.ts';
import { termIndex, type IndexedText } from './term-index.ts';

/** Where a keyword memory keeps its records, and how many. */
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
 * Creates a memory that outlives conversations and finds records by keywords, in any language.
 *
 * ```ts
 * const memory = keywordMemory({ store, namespace: userId });
 * const agent = new ReActAgent({ name: 'assistant', model, use: [longTermMemory({ memory })] });
 * ```
 *
 * The records are in a key-value store. Each call of `record` stores the text of its messages as one record under its own key,
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

/** One record of long-term memory, as the store has it in JSON. */
interface StoredRecord {
  readonly sessionId: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly parts: readonly { readonly speaker: string; readonly text: string }[];
}

class KeywordMemory implements LongTermMemory {
  readonly #options: KeywordMemoryOptions;
  readonly #maxRecords: number;
  readonly #search: MiniSearch<IndexedText>;
  readonly #records: StoredEntries<StoredRecord>;

  constructor(options: KeywordMemoryOptions) {
    const fields =
      'store:object namespace:string|? maxRecords:natural|Infinity|? stopWords:iterator()|? onError,generateId,now:function|?';
    checkOptions('keywordMemory()', options, fields);
    const { store, namespace = 'default', maxRecords = 2_000, onError } = options;
    const methods = 'get,getMany,set,delete,keys:function';
    checkFields('keywordMemory(): store', store, methods);
    this.#options = options;
    this.#maxRecords = maxRecords;
    const search = termIndex(searchTerms({ stopWords: options.stopWords }));
    this.#search = search;
    this.#records = new StoredEntries<StoredRecord>({
      store,
      kind: keyPrefix.longTerm,
      namespace,
      words: { entry: 'long-term record', group: 'session id' },
      isUnique: false,
      index: {
        parse: parseRecord,
        add: ({ key }, record) => search.add({ id: key, text: searchedText(record) }),
        remove: ({ key }, record) => search.remove({ id: key, text: searchedText(record) }),
      },
      onError: (error) => reportFailure('KeywordMemory ignores a failure:', onError, error),
    });
  }

  async retrieve(
    query: string,
    options: LongTermRetrieveOptions = {},
  ): Promise<readonly LongTermRecord[]> {
    const { limit = 5, sessionId, exceptSessionId, signal } = options;
    await this.#records.refresh(signal, this.#maxRecords);
    const isWanted = (record: StoredRecord): boolean =>
      (sessionId === undefined || record.sessionId === sessionId) &&
      record.sessionId !== exceptSessionId;
    const found = this.#search.search(query).flatMap(({ id: key, score }): LongTermRecord[] => {
      const record = this.#records.get(key as string);
      if (!record || !isWanted(record)) return [];
      const id = (key as string).slice(this.#records.prefix.length);
      const text = record.parts.map((part) => `${part.speaker}: ${part.text}`).join('\n');
      return [{ id, text, sessionId: record.sessionId, createdAt: record.createdAt, score }];
    });
    return found.sort(byScore).slice(0, limit);
  }

  record(messages: readonly Msg[], { sessionId, signal }: LongTermRecordOptions): Promise<void> {
    return this.#records.inTurn(async () => {
      const { generateId = randomId, now = Date.now } = this.#options;
      const parts = messages.map((message) => ({
        speaker: message.name ?? message.role,
        text: textOf(message).trim(),
      }));
      const said = parts.filter(({ text }) => text);
      if (said.length === 0) return;
      signal?.throwIfAborted();
      const at = now();
      const createdAt = new Date(at).toISOString();
      const place = { group: sessionId, at, id: generateId() };
      await this.#records.write(place, { sessionId, createdAt, parts: said });
    });
  }

  delete(ids: readonly string[]): Promise<void> {
    const records = this.#records;
    const places = ids.flatMap((id) => records.placeOf(records.prefix + id) ?? []);
    return records.inTurn(() => records.delete(places));
  }

  deleteSession(sessionId: string): Promise<void> {
    const records = this.#records;
    return records.inTurn(() => records.deleteAll(records.groupPrefix(sessionId)));
  }

  clear(): Promise<void> {
    return this.#records.inTurn(() => this.#records.deleteAll(this.#records.prefix));
  }
}

/** Sorts the best records first, and of equal ones the newest. */
function byScore(a: LongTermRecord, b: LongTermRecord): number {
  return b.score! - a.score! || Date.parse(b.createdAt) - Date.parse(a.createdAt);
}

function parseRecord(value: Readonly<Record<string, unknown>>): StoredRecord | undefined {
  const { sessionId, createdAt, parts } = value;
  if (typeof sessionId !== 'string' || Number.isNaN(Date.parse(String(createdAt))))
    return undefined;
  return Array.isArray(parts) && parts.every(isPart)
    ? { sessionId, createdAt: String(createdAt), parts }
    : undefined;
}

function isPart(value: unknown): boolean {
  return (
    isRecord(value) && typeof value['speaker'] === 'string' && typeof value['text'] === 'string'
  );
}

function randomId(): string {
  return crypto.randomUUID().slice(0, 8);
}

/**
 * Returns the text of a record without the names of speakers. Otherwise a question with the word
 * "user" would match every record.
 */
function searchedText({ parts }: StoredRecord): string {
  return parts.map(({ text }) => text).join('\n');
}
