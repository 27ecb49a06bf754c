import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { textOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { abortable } from '../../model/abortable.ts';
import type { KeyValueStore } from '../../memory/key-value-store.ts';
import type {
  LongTermMemory,
  LongTermRecord,
  LongTermRecordOptions,
  LongTermRetrieveOptions,
} from '../long-term/long-term-contract.ts';
import {
  formatVersion,
  parseRecord,
  RecordKeys,
  type StoredRecord,
} from '../../memory/log/record-format.ts';
import { RecordIndex } from './record-index.ts';
import { searchTerms } from './search-terms.ts';
import { splitValue } from '../../memory/log/split-value.ts';
import { stopWords } from './stop-words.ts';

export interface KeywordMemoryOptions {
  readonly store: KeyValueStore;
  /**
   * Whose memory it is, such as a user's id; nothing is found across namespaces. Default `default`.
   */
  readonly namespace?: string;
  /** Above this the oldest are deleted, at the next retrieval. Default 2,000. */
  readonly maxRecords?: number;
  /**
   * Words that are not searched for. Default: the commonest of English, Chinese, Japanese and
   * Korean.
   */
  readonly stopWords?: Iterable<string>;
  /**
   * Told of a record that is damaged, once, and then the search goes on without it; and of old
   * records that could not be deleted. Default: `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
  /**
   * Names a record; letters, digits and dashes, never the same twice in a millisecond. Default:
   * random.
   */
  readonly generateId?: () => string;
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/**
 * Long-term memory over a store, found by keywords, in any language. Each call of `record` keeps
 * the messages' text as one record under a key of its own: nothing else is read or written. The
 * index is built in memory at the first retrieval, which reads all records; each later one lists
 * the keys and reads only what is new, so instances over one store see each other's records as soon
 * as the store's listing has them (at once; on Cloudflare KV within a minute). An instance finds
 * its own at once.
 *
 * Deletes remove the values themselves. On a store whose listing lags, what another instance wrote
 * within that time is missed.
 *
 * Rejects with `STORAGE_QUOTA` or `STORAGE_FAILED` as the store does. Throws `INVALID_INPUT` for a
 * namespace that is empty or longer than 200 characters, percent-encoded, `CONFIGURATION` for a
 * `maxRecords` that is no whole number above 0.
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
  /** Deleted here: a listing that lags must not bring them back. */
  readonly #deleted = new Set<string>();
  readonly #damaged = new Set<string>();
  #writes: Promise<unknown> = Promise.resolve();
  #refreshing: Promise<void> | undefined;

  constructor(options: KeywordMemoryOptions) {
    checkFields(
      'CONFIGURATION',
      'keywordMemory',
      options,
      'store:object onError:function|? generateId:function|? now:function|?',
    );
    const { store, namespace = 'default', maxRecords = 2_000 } = options;
    checkFields(
      'CONFIGURATION',
      'keywordMemory: store',
      store,
      'get:function getMany:function set:function delete:function keys:function',
    );
    if (!(maxRecords >= 1 && (Number.isInteger(maxRecords) || maxRecords === Infinity))) {
      throw new AgentError('CONFIGURATION', 'maxRecords must be a whole number above 0');
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
      // Those who ask while the store is being read share the answer.
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
      // The first value last: a record whose first value is there is there whole.
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

  /** Takes in what is new in the store, and leaves out what is gone. */
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
    // Not listed: deleted elsewhere, or so new that the listing does not have it yet. Its value
    // tells.
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
    // Deleted meanwhile, or listed before it can be read: the next retrieval sees.
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
    const { onError = (told) => console.warn(`${told.message}; it is left out.`) } = this.#options;
    onError(AgentError.from(error, 'STORAGE_FAILED'));
  }

  /**
   * One at a time, in the order they were called: what is deleted is not written by a record that
   * came before.
   */
  #write(operation: () => Promise<void>): Promise<void> {
    const result = this.#writes.then(operation).catch((error: unknown) => {
      throw AgentError.from(error, 'STORAGE_FAILED');
    });
    this.#writes = result.catch(() => {});
    return result;
  }
}
