import { AgentError, type KeyValueStore, type JsonObject, type JsonValue } from '@isoloop/core';
import { reportFailure } from '@isoloop/core/error';
import {
  checkFields,
  checkOptions,
  anything,
  func,
  iterable,
  object,
  optional,
  string,
  withMethod,
  type OptionTable,
  checkId,
} from '@isoloop/core/options';
import type { RetrievedDocument } from '@isoloop/core/message';
import { type ChunkOptions, chunkText } from './chunk-text.ts';
import type { RetrieveOptions, Retriever } from './retriever.ts';
import { searchTerms, shortQuery, type SearchTerms } from '@isoloop/core/tokens';
import { StoredEntries } from './stored-entries.ts';
import { termIndex, type IndexedText } from './term-index.ts';
import type MiniSearch from 'minisearch';

/** Beginning of the keys of these values in a store. */
export const documentKeyPrefix = 'docs:';

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

/** Documents of a retriever that are kept in a store. */
export interface StoredDocuments {
  readonly store: KeyValueStore;
  /**
   * Owner of the documents. A search finds only documents of its own namespace. Default: `default`.
   */
  readonly namespace?: string;
}

/** How a keyword retriever splits and searches documents. */
export interface KeywordRetrieverOptions {
  /**
   * How to split long documents for the index. Default: chunks of about 400 tokens with an overlap
   * of 50.
   */
  readonly chunks?: ChunkOptions;
  /**
   * Words that the search ignores. Default: the most common words of English, Chinese, Japanese and
   * Korean.
   */
  readonly stopWords?: Iterable<string>;
  /**
   * Function that gets one error for each damaged document in the store. The search continues
   * without the document. Default: `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
  /** Returns the current time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Retriever that finds documents by keywords, and to which you add documents. */
export interface KeywordRetriever extends Retriever {
  /**
   * Finds documents. `topK` defaults to 10. A document must have the value of every filter in the
   * metadata field with the same name. If a filter or a field is an array, one common value is
   * enough.
   */
  retrieve(
    query: string,
    options?: Partial<RetrieveOptions>,
  ): Promise<readonly RetrievedDocument[]>;
  /**
   * Adds documents. A document replaces an earlier document with the same id. Rejects with
   * `INVALID_INPUT` for a value that is not a document.
   */
  add(documents: readonly SearchDocument[]): Promise<void>;
  /** Removes documents. Ignores unknown ids. */
  remove(ids: readonly string[]): Promise<void>;
  /** Removes all documents, also from the store. */
  clear(): Promise<void>;
}

/**
 * Creates a retriever that finds documents by keywords, in any language.
 *
 * ```ts
 * const retriever = keywordRetriever([{ id: 'hours', content: 'We open at nine.' }]);
 * const agent = new ReActAgent({ name: 'assistant', model, use: [retrieval({ retriever })] });
 * ```
 *
 * It searches an array of documents, or a store that `add` has filled. Long documents are split
 * into chunks. Each chunk is found separately and has the id `id#n`. The search compares words, not
 * meanings. The beginning of a word, or a word with one typing error, also matches.
 *
 * Scores are from 0 to 1. The score of the best chunk is the share of the query's words that the
 * chunk contains. The other scores are in proportion to it. These scores are not similarities, so
 * the retriever's `threshold` is 0.05. With a store, the first search builds the index. Each later
 * search lists the keys and reads only new documents. Methods reject with the store's error.
 */
export function keywordRetriever(
  source: readonly SearchDocument[] | StoredDocuments,
  options: KeywordRetrieverOptions = {},
): KeywordRetriever {
  checkOptions('keywordRetriever()', options, keywordRetrieverOptions);
  const { chunks, stopWords } = options;
  const index = new DocumentIndex(searchTerms({ stopWords }), chunks);
  if (!Array.isArray(source)) return storedRetriever(source as StoredDocuments, index, options);
  const add = (documents: readonly SearchDocument[]): void => {
    for (const document of checkDocuments(documents)) index.set(document);
  };
  add(source);
  return {
    threshold,
    async retrieve(query, { topK = 10, signal, filters } = {}) {
      if (signal?.aborted) throw AgentError.from(signal.reason, 'ABORTED');
      return index.find(query, topK, filters);
    },
    async add(documents) {
      add(documents);
    },
    async remove(ids) {
      for (const id of ids) index.remove(id);
    },
    async clear() {
      index.clear();
    },
  };
}

const keywordRetrieverOptions: OptionTable<KeywordRetrieverOptions> = {
  chunks: optional(object),
  stopWords: optional(iterable),
  onError: optional(func),
  now: optional(func),
};

/** Minimum score of a useful document. */
const threshold = 0.05;

function storedRetriever(
  source: StoredDocuments,
  index: DocumentIndex,
  { onError, now = Date.now }: KeywordRetrieverOptions,
): KeywordRetriever {
  checkOptions('keywordRetriever()', source, storedDocuments);
  if ('namespace' in source) checkId(source.namespace, 'namespace of keywordRetriever()');
  const { store, namespace = 'default' } = source;
  const entries = new StoredEntries<SearchDocument>({
    store,
    kind: documentKeyPrefix,
    namespace,
    words: { entry: 'document', group: 'document id' },
    isUnique: true,
    add: (_id, document) => index.set(document),
    remove: (id) => index.remove(id),
    onError: (error) => reportFailure('keywordRetriever() ignores a failure:', onError, error),
  });

  return {
    threshold,
    async retrieve(query, { topK = 10, signal, filters } = {}) {
      await entries.refresh(signal);
      return index.find(query, topK, filters);
    },
    add: (documents) =>
      entries.inOrder(async () => {
        const [first, ...others] = checkDocuments(documents);
        if (!first) return;
        const prefix = others.length ? entries.prefix : entries.groupPrefix(first.id);
        const addresses = await entries.list(prefix);
        for (const document of documents) {
          const address = { group: document.id, at: now(), id: crypto.randomUUID().slice(0, 8) };
          const previousAddress = await entries.write(address, document);
          const older = addresses.filter(({ group }) => group === document.id);
          await entries.delete(previousAddress ? [...older, previousAddress] : older);
        }
      }),
    remove: (ids) =>
      entries.inOrder(async () => {
        for (const id of ids) await entries.deleteAll(entries.groupPrefix(id));
      }),
    clear: () => entries.inOrder(() => entries.deleteAll(entries.prefix)),
  };
}

const storedDocuments: OptionTable<StoredDocuments> = {
  store: withMethod('getMany'),
  namespace: anything,
};

/** Throws `INVALID_INPUT` if a value is not a document. */
function checkDocuments(documents: readonly SearchDocument[]): readonly SearchDocument[] {
  if (!Array.isArray(documents))
    throw new AgentError('INVALID_INPUT', 'documents must be an array');
  for (const [index, document] of documents.entries()) {
    const where = `documents[${index}]`;
    checkFields(where, document, searchDocument, 'INVALID_INPUT');
    if (!document.id) throw new AgentError('INVALID_INPUT', `${where}: id must not be empty`);
  }
  return documents;
}

const searchDocument: OptionTable<SearchDocument> = {
  id: string,
  content: string,
  source: optional(string),
  metadata: optional(object),
};

/** Index of documents, which are split into chunks and found by their words. */
class DocumentIndex {
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
    const [bestResult] = results;
    if (!bestResult) return [];
    const termCount = this.#terms.ofQuery(shortQuery(query)).length;
    const share = Math.min(1, new Set(bestResult.queryTerms).size / termCount);
    return results.slice(0, topK).map(({ id, score }) => ({
      ...this.#chunks.get(id as string)!,
      score: (score / bestResult.score) * share,
    }));
  }
}

/**
 * Returns whether a document has the value of every filter. If a filter or a field is an array, one
 * common value is enough.
 */
function passes({ metadata = {} }: RetrievedDocument, filters: JsonObject): boolean {
  return Object.entries(filters).every(([key, expected]) => {
    const has = Object.hasOwn(metadata, key) ? [metadata[key]].flat() : [];
    return [expected].flat().some((each) => has.some((value) => isSame(value, each)));
  });
}

function isSame(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return a === b || (Object(a) === a && JSON.stringify(a) === JSON.stringify(b));
}
