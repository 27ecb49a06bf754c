import type MiniSearch from 'minisearch';
import type { JsonObject, JsonValue } from '../message/json.ts';
import { chunkText, type ChunkOptions } from './chunk-text.ts';
import type { RetrievedDocument } from '../message/retrieved-document.ts';
import { shortQuery, type SearchTerms } from './search-terms.ts';
import { termIndex, type IndexedText } from './term-index.ts';

/** A text of any length that can be searched. */
export interface SearchDocument {
  /** Id of the document. A new document with the same id replaces it. */
  readonly id: string;
  readonly content: string;
  /** Source of the text, as the model should cite it. */
  readonly source?: string;
  /** Fields that the filters of a search compare. */
  readonly metadata?: JsonObject;
}

/** Index of documents, which are split into chunks and found by their words. */
export class DocumentIndex {
  readonly #terms: SearchTerms;
  readonly #chunking: ChunkOptions | undefined;
  readonly #search: MiniSearch<IndexedText>;
  /** The chunks by key: the number of a chunk, then the id of its document. */
  readonly #chunks = new Map<string, RetrievedDocument>();

  constructor(terms: SearchTerms, chunking: ChunkOptions | undefined) {
    this.#terms = terms;
    this.#chunking = chunking;
    this.#search = termIndex(terms);
  }

  set(document: SearchDocument): void {
    this.remove(document.id);
    const { id, content, source, metadata } = document;
    const texts = chunkText(content, this.#chunking);
    for (const [index, text] of texts.entries()) {
      const key = `${index}:${id}`;
      this.#chunks.set(key, {
        id: texts.length > 1 ? `${id}#${index + 1}` : id,
        content: text,
        ...(source && { source }),
        ...(metadata && { metadata }),
      });
      this.#search.add({ id: key, text });
    }
  }

  remove(id: string): void {
    for (let index = 0; ; index++) {
      const key = `${index}:${id}`;
      const chunk = this.#chunks.get(key);
      if (!chunk) return;
      this.#search.remove({ id: key, text: chunk.content });
      this.#chunks.delete(key);
    }
  }

  clear(): void {
    this.#search.removeAll();
    this.#chunks.clear();
  }

  /**
   * Returns the chunks that match, best first. Scores are from 0 to 1. The score of the best chunk
   * is the share of the query's words that the chunk contains. The scores of the other chunks are
   * in proportion to it, by BM25.
   */
  find(query: string, topK: number, filters: JsonObject = {}): readonly RetrievedDocument[] {
    const results = this.#search.search(query, {
      filter: ({ id }) => passes(this.#chunks.get(id as string)!, filters),
    });
    const [best] = results;
    if (!best) return [];
    const asked = this.#terms.ofQuery(shortQuery(query)).length;
    const share = Math.min(1, new Set(best.queryTerms).size / asked);
    return results.slice(0, topK).map(({ id, score }) => ({
      ...this.#chunks.get(id as string)!,
      score: (score / best.score) * share,
    }));
  }
}

/**
 * Returns whether a document has the value of every filter. If a filter or a field is an array, one
 * common value is enough.
 */
function passes({ metadata = {} }: RetrievedDocument, filters: JsonObject): boolean {
  return Object.entries(filters).every(([key, wanted]) => {
    const has = Object.hasOwn(metadata, key) ? [metadata[key]].flat() : [];
    return [wanted].flat().some((each) => has.some((value) => isSame(value, each)));
  });
}

function isSame(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return a === b || (Object(a) === a && JSON.stringify(a) === JSON.stringify(b));
}
