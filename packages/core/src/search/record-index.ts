import type MiniSearch from 'minisearch';
import type { SearchTerms } from './search-terms.ts';
import { termIndex, type IndexedText } from './term-index.ts';

/** One record of long-term memory, as the store has it in JSON. */
export interface StoredRecord {
  readonly sessionId: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly parts: readonly { readonly speaker: string; readonly text: string }[];
}

export interface Found {
  readonly key: string;
  readonly record: StoredRecord;
  readonly score: number;
}

/** Index of records, which are found by their words. */
export class RecordIndex {
  readonly #records = new Map<string, StoredRecord>();
  readonly #search: MiniSearch<IndexedText>;

  constructor(terms: SearchTerms) {
    this.#search = termIndex(terms);
  }

  add(key: string, record: StoredRecord): void {
    this.#records.set(key, record);
    this.#search.add({ id: key, text: textOf(record) });
  }

  remove(key: string): void {
    const record = this.#records.get(key)!;
    this.#records.delete(key);
    this.#search.remove({ id: key, text: textOf(record) });
  }

  /**
   * Returns the records that match, best first. Records with the same score are sorted by time,
   * newest first.
   */
  find(query: string, isWanted: (record: StoredRecord) => boolean): readonly Found[] {
    return this.#search
      .search(query)
      .flatMap(({ id, score }): Found[] => {
        const record = this.#records.get(id as string);
        return record && isWanted(record) ? [{ key: id as string, record, score }] : [];
      })
      .sort(
        (a, b) =>
          b.score - a.score || Date.parse(b.record.createdAt) - Date.parse(a.record.createdAt),
      );
  }
}

/**
 * Returns the text of a record without the names of speakers. Otherwise a question with the word
 * "user" would match every record.
 */
function textOf({ parts }: StoredRecord): string {
  return parts.map(({ text }) => text).join('\n');
}
