import type { JsonObject } from '../../message/json/json.ts';

/** A piece of text that matches a query. */
export interface RetrievedDocument {
  /** Id of the piece of text. If two documents have the same id, the better document is used. */
  readonly id?: string;
  /** Text of the document, which the model gets. */
  readonly content: string;
  /** Source of the text, as the model should cite it: a title, a path or a URL. */
  readonly source?: string;
  /**
   * How well the document matches the query; higher is better. Use scores from 0 to 1, or set
   * `threshold`.
   */
  readonly score?: number;
  readonly metadata?: JsonObject;
}

export interface RetrieveOptions {
  /** Maximum number of documents to return. */
  readonly topK: number;
  /** Signal that aborts when the search is no longer needed. */
  readonly signal: AbortSignal;
  /**
   * Conditions for the documents, such as a tenant or a language. Their format depends on the
   * retriever.
   */
  readonly filters?: JsonObject | undefined;
  readonly sessionId?: string;
}

/**
 * Finds text for a query, for example with a vector store, a search engine or `keywordRetriever()`
 * (Arc Reactor: `DocumentRetriever`).
 */
export interface Retriever {
  /**
   * Returns the documents that match, best first. Returns an empty array if no document matches.
   */
  retrieve(query: string, options: RetrieveOptions): Promise<readonly RetrievedDocument[]>;
  /**
   * Minimum score of a useful document. Set `threshold` if the scores are not similarities from 0
   * to 1. `retrieval()` then uses this value in place of 0.7.
   */
  readonly threshold?: number;
}
