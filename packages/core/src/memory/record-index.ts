import MiniSearch from 'minisearch';
import type { StoredRecord } from './record-format.ts';
import type { SearchTerms } from './search-terms.ts';

export interface Found {
  readonly key: string;
  readonly record: StoredRecord;
  readonly score: number;
}

/** Records by their keys, found by their words. */
export class RecordIndex {
  readonly records: Map<string, StoredRecord> = new Map();
  readonly #search: MiniSearch<{ readonly id: string; readonly text: string }>;

  constructor(terms: SearchTerms) {
    this.#search = new MiniSearch({
      fields: ['text'],
      tokenize: terms.ofText,
      processTerm: (term) => term,
      // It would work on behind a timer, which a Worker may not have between two requests.
      autoVacuum: false,
      searchOptions: {
        tokenize: terms.ofQuery,
        prefix: (term) => isWord(term) && term.length > 2,
        fuzzy: (term) => (isWord(term) && term.length > 4 ? 1 : false),
        weights: { prefix: 0.5, fuzzy: 0.3 },
      },
    });
  }

  /** A key that is there already stays as it is. */
  add(key: string, record: StoredRecord): void {
    if (this.records.has(key)) return;
    this.records.set(key, record);
    this.#search.add({ id: key, text: textOf(record) });
  }

  remove(key: string): void {
    const record = this.records.get(key);
    if (!record) return;
    this.records.delete(key);
    this.#search.remove({ id: key, text: textOf(record) });
  }

  /** The best first, of equally good ones the newest. */
  find(query: string, isWanted: (record: StoredRecord) => boolean): readonly Found[] {
    return this.#search
      .search(query)
      .flatMap(({ id, score }): Found[] => {
        const record = this.records.get(id as string);
        return record && isWanted(record) ? [{ key: id as string, record, score }] : [];
      })
      .sort((a, b) => b.score - a.score || Date.parse(b.record.createdAt) - Date.parse(a.record.createdAt));
  }
}

/** The speakers are not searched: a question that has "user" in it would find everything. */
function textOf({ parts }: StoredRecord): string {
  return parts.map(({ text }) => text).join('\n');
}

/** A word of a script with spaces; a number has to fit as it is. */
function isWord(term: string): boolean {
  return /^[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]+$/u.test(term);
}
