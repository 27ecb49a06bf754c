import { type AgentError, type KeyValueStore, textOf } from '@isoloop/core';
import { reportFailure } from '@isoloop/core/error';
import {
  checkFields,
  checkOptions,
  anything,
  either,
  func,
  infinity,
  iterable,
  natural,
  object,
  optional,
  type FieldTable,
  type OptionTable,
  checkId,
} from '@isoloop/core/options';
import type { LongTermMemory, LongTermRecord } from '../long-term-store.ts';
import { searchTerms } from '@isoloop/core/tokens';
import { StoredEntries } from './stored-entries.ts';
import { termIndex } from './term-index.ts';

/** Beginning of the keys of these values in a store. */
export const recordKeyPrefix = 'ltm:';

/** Where a keyword memory keeps its records, and how many. */
export interface KeywordMemoryOptions {
  readonly store: KeyValueStore;
  /**
   * Owner of the memory, such as the id of a user. A search finds only records of its own
   * namespace. Default: `default`.
   */
  readonly namespace?: string;
  /**
   * Maximum number of records. If there are more, the next retrieval deletes the oldest records.
   * Default: 2,000.
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
  /** Returns the current time in milliseconds since 1970. Default: `Date.now`. */
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
 * The records are in a key-value store. Each call of `record` stores the text of its messages as
 * one record under its own key, and needs no other reads or writes.
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
  checkOptions('keywordMemory()', options, keywordMemoryOptions);
  const { store, namespace = 'default', maxRecords = 2_000, stopWords, onError } = options;
  if ('namespace' in options) checkId(options.namespace, 'namespace of keywordMemory()');
  const { generateId = () => crypto.randomUUID().slice(0, 8), now = Date.now } = options;
  checkFields('keywordMemory(): store', store, storeFields);
  const search = termIndex(searchTerms({ stopWords }));
  const records = new StoredEntries<StoredRecord>({
    store,
    kind: recordKeyPrefix,
    namespace,
    words: { entry: 'long-term record', group: 'session id' },
    isUnique: false,
    add: (key, record) => search.add({ id: key, text: searchedText(record) }),
    remove: (key, record) => search.remove({ id: key, text: searchedText(record) }),
    onError: (error) => reportFailure('KeywordMemory ignores a failure:', onError, error),
  });
  return {
    async retrieve(query, { limit = 5, sessionId, exceptSessionId, signal } = {}) {
      await records.refresh(signal, maxRecords);
      const matches = search.search(query).flatMap(({ id, score }): LongTermRecord[] => {
        const key = id as string;
        const record = records.get(key);
        const isWanted = sessionId === undefined || record?.sessionId === sessionId;
        if (!record || !isWanted || record.sessionId === exceptSessionId) return [];
        const text = record.parts.map((part) => `${part.speaker}: ${part.text}`).join('\n');
        const { parts: _parts, ...recordFields } = record;
        return [{ ...recordFields, id: key.slice(records.prefix.length), text, score }];
      });
      // The best records come first, and of equal ones the newest.
      return matches
        .sort((a, b) => b.score! - a.score! || Date.parse(b.createdAt) - Date.parse(a.createdAt))
        .slice(0, limit);
    },
    record: (messages, { sessionId, signal }) =>
      records.inOrder(async () => {
        const parts = messages.map((message) => ({
          speaker: message.name ?? message.role,
          text: textOf(message).trim(),
        }));
        const partsWithText = parts.filter(({ text }) => text);
        if (partsWithText.length === 0) return;
        signal?.throwIfAborted();
        const at = now();
        const createdAt = new Date(at).toISOString();
        const address = { group: sessionId, at, id: generateId() };
        await records.write(address, { sessionId, createdAt, parts: partsWithText });
      }),
    async delete(ids) {
      const addresses = ids.flatMap((id) => records.addressOf(records.prefix + id) ?? []);
      await records.inOrder(() => records.delete(addresses));
    },
    deleteSession: (sessionId) =>
      records.inOrder(() => records.deleteAll(records.groupPrefix(sessionId))),
    clear: () => records.inOrder(() => records.deleteAll(records.prefix)),
  };
}

const keywordMemoryOptions: OptionTable<KeywordMemoryOptions> = {
  store: object,
  namespace: anything,
  maxRecords: optional(either(natural, infinity)),
  stopWords: optional(iterable),
  onError: optional(func),
  generateId: optional(func),
  now: optional(func),
};

const storeFields: FieldTable<KeyValueStore> = {
  get: func,
  getMany: func,
  set: func,
  delete: func,
  keys: func,
};

/** One record of long-term memory, as the store has it in JSON. */
interface StoredRecord {
  readonly sessionId: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly parts: readonly { readonly speaker: string; readonly text: string }[];
}

/**
 * Returns the text of a record without the names of speakers. Otherwise a question with the word
 * "user" would match every record.
 */
function searchedText({ parts }: StoredRecord): string {
  return parts.map(({ text }) => text).join('\n');
}
