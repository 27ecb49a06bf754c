import { AgentError } from '../error/agent-error.ts';
import { checkFields, checkOptions } from '../error/check-fields.ts';
import { reportFailure } from '../error/report-failure.ts';
import { abortable } from '../model/abortable.ts';
import type { ChunkOptions } from './chunk-text.ts';
import { DocumentIndex, type SearchDocument } from './document-index.ts';
import { DocumentStore } from './document-store.ts';
import type { KeyValueStore } from '../memory/key-value-store.ts';
import type { RetrievedDocument } from '../message/retrieved-document.ts';
import type { RetrieveOptions, Retriever } from './retriever.ts';
import { searchTerms } from './search-terms.ts';
import { stopWords } from './stop-words.ts';

export interface StoredDocuments {
  readonly store: KeyValueStore;
  /**
   * Owner of the documents. A search finds only documents of its own namespace. Default `default`.
   */
  readonly namespace?: string;
}

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
  /** Returns the current time in milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

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
 * Creates a retriever that finds documents by keywords, in any language. It searches an array of
 * documents, or a store that `add` has filled. Long documents are split into chunks. Each chunk is
 * found separately and has the id `id#n`. The search compares words, not meanings. The beginning of
 * a word, or a word with one typing error, also matches.
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
  checkOptions(
    'CONFIGURATION',
    'keywordRetriever()',
    options,
    'chunks:object|? stopWords:iterator()|? onError:function|? now:function|?',
  );
  const { chunks, onError, now = Date.now } = options;
  const report = (error: AgentError): void =>
    reportFailure('keywordRetriever() ignores a failure:', onError, error);
  const index = new DocumentIndex(
    searchTerms({ stopWords: options.stopWords ? new Set(options.stopWords) : stopWords() }),
    chunks,
  );
  const stored = Array.isArray(source)
    ? undefined
    : openStore(source as StoredDocuments, now, report);
  if (Array.isArray(source)) for (const document of checked(source)) index.set(document);

  const inTurn = oneAtATime();
  let refreshing: Promise<void> | undefined;

  return {
    threshold: 0.05,
    async retrieve(query, { topK = 10, signal, filters } = {}) {
      if (stored) {
        // Concurrent searches share one read of the store.
        const fresh = (refreshing ??= inTurn(() => stored.refresh(index)).finally(
          () => (refreshing = undefined),
        ));
        await (signal
          ? abortable(fresh, signal).catch((error: unknown) => raise(error, signal))
          : fresh);
      }
      if (signal?.aborted) raise(signal.reason, signal);
      return index.find(query, topK, filters);
    },
    async add(documents) {
      const given = checked(documents);
      if (stored) return inTurn(() => stored.add(given, index));
      for (const document of given) index.set(document);
    },
    async remove(ids) {
      if (stored) return inTurn(() => stored.remove(ids, index));
      for (const id of ids) index.remove(id);
    },
    async clear() {
      if (stored) return inTurn(() => stored.clear(index));
      index.clear();
    },
  };
}

/**
 * Returns a function that runs store operations one at a time, so that a refresh never reads
 * documents that are only partly written or deleted.
 */
function oneAtATime(): (work: () => Promise<void>) => Promise<void> {
  let turn: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = turn.then(work).catch((error: unknown) => {
      throw AgentError.from(error, 'STORAGE_FAILED');
    });
    turn = result.catch(() => {});
    return result;
  };
}

function raise(error: unknown, signal: AbortSignal): never {
  throw AgentError.from(error, signal.aborted ? 'ABORTED' : 'STORAGE_FAILED');
}

function openStore(
  source: StoredDocuments,
  now: () => number,
  onError: (error: AgentError) => void,
): DocumentStore {
  checkOptions('CONFIGURATION', 'keywordRetriever()', source, 'store:getMany() namespace:string|?');
  const { store, namespace = 'default' } = source;
  return new DocumentStore({ store, namespace, now, onError });
}

/** Throws `INVALID_INPUT` if a value is not a document. */
function checked(documents: readonly SearchDocument[]): readonly SearchDocument[] {
  if (!Array.isArray(documents))
    throw new AgentError('INVALID_INPUT', 'documents must be an array');
  for (const [index, document] of documents.entries()) {
    checkFields(
      'INVALID_INPUT',
      `documents[${index}]`,
      document,
      'id:string content:string source:string|? metadata:object|?',
    );
    if (!document.id)
      throw new AgentError('INVALID_INPUT', `documents[${index}]: id must not be empty`);
  }
  return documents;
}
