import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { abortable } from '../../model/abortable.ts';
import type { ChunkOptions } from './chunk-text.ts';
import { DocumentIndex, type SearchDocument } from './document-index.ts';
import { DocumentStore } from './document-store.ts';
import type { KeyValueStore } from '../../memory/key-value-store.ts';
import type { RetrievedDocument, RetrieveOptions, Retriever } from '../retrieval/retriever.ts';
import { searchTerms } from './search-terms.ts';
import { stopWords } from './stop-words.ts';

export interface StoredDocuments {
  readonly store: KeyValueStore;
  /** Whose documents they are; nothing is found across namespaces. Default `default`. */
  readonly namespace?: string;
}

export interface KeywordRetrieverOptions {
  /** How long documents are cut for the index; default: about 400 tokens with an overlap of 50. */
  readonly chunks?: ChunkOptions;
  /**
   * Words that are not searched for. Default: the commonest of English, Chinese, Japanese and
   * Korean.
   */
  readonly stopWords?: Iterable<string>;
  /**
   * Told of a document in the store that is damaged, once; the search goes on without it. Default:
   * `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

export interface KeywordRetriever extends Retriever {
  /**
   * `topK` is 10 by default. Filters are equal to fields of the documents' metadata; an array on
   * either side is a choice.
   */
  retrieve(
    query: string,
    options?: Partial<RetrieveOptions>,
  ): Promise<readonly RetrievedDocument[]>;
  /**
   * One whose id is there already takes the other's place. Rejects with `INVALID_INPUT` for what is
   * no document.
   */
  add(documents: readonly SearchDocument[]): Promise<void>;
  /** Unknown ids are ignored. */
  remove(ids: readonly string[]): Promise<void>;
  /** Removes all, also from the store. */
  clear(): Promise<void>;
}

/**
 * Finds documents by their keywords, in any language: an array of them, or those in a store, where
 * `add` has put them. Long ones are cut into chunks, each found for itself, with `id#n` as its id.
 * It finds words, with prefixes and one typing error, not meanings.
 *
 * A score is from 0 to 1: the best one's is the share of the query's words that it has, the others'
 * in proportion to it. As words are no similarity, `retrieval()` uses what has 0.05 or more. With a
 * store the index is built at the first search, and each later one lists the keys and reads only
 * what is new. Rejects as the store does.
 */
export function keywordRetriever(
  source: readonly SearchDocument[] | StoredDocuments,
  options: KeywordRetrieverOptions = {},
): KeywordRetriever {
  checkFields(
    'CONFIGURATION',
    'keywordRetriever()',
    options,
    'chunks:object|? stopWords:iterator()|? onError:function|? now:function|?',
  );
  const { chunks, onError = warn, now = Date.now } = options;
  const index = new DocumentIndex(
    searchTerms({ stopWords: options.stopWords ? new Set(options.stopWords) : stopWords() }),
    chunks,
  );
  const stored = Array.isArray(source)
    ? undefined
    : openStore(source as StoredDocuments, now, onError);
  if (Array.isArray(source)) for (const document of checked(source)) index.set(document);

  let turn: Promise<unknown> = Promise.resolve();
  /** One after the other, so that a refresh never reads what is half written or half deleted. */
  const inTurn = (work: () => Promise<void> | undefined): Promise<void> => {
    const result = turn.then(work).catch((error: unknown) => {
      throw AgentError.from(error, 'STORAGE_FAILED');
    });
    turn = result.catch(() => {});
    return result;
  };
  let refreshing: Promise<void> | undefined;

  return {
    threshold: 0.05,
    async retrieve(query, { topK = 10, signal, filters } = {}) {
      if (typeof query !== 'string')
        throw new AgentError('INVALID_INPUT', 'The query must be a string');
      if (!(Number.isInteger(topK) && topK > 0))
        throw new AgentError('INVALID_INPUT', 'topK must be a whole number above 0');
      if (stored) {
        // Those who ask while the store is being read share the answer.
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
      if (!Array.isArray(ids)) throw new AgentError('INVALID_INPUT', 'ids must be an array');
      if (stored) return inTurn(() => stored.remove(ids, index));
      for (const id of ids) index.remove(id);
    },
    async clear() {
      if (stored) return inTurn(() => stored.clear(index));
      index.clear();
    },
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
  checkFields('CONFIGURATION', 'keywordRetriever()', source, 'store:getMany() namespace:string|?');
  const { store, namespace = 'default' } = source;
  return new DocumentStore({ store, namespace, now, onError });
}

/** Throws `INVALID_INPUT` for the first that is no document. */
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

function warn(error: AgentError): void {
  console.warn(`${error.message}; it is left out.`);
}
