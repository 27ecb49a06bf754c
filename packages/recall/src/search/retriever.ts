import type { JsonObject } from '@isoloop/core';
import type { RetrievedDocument } from '@isoloop/core/message';

/** Which documents a retriever returns, and how many. */
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
 * Finds text for a query, for example with a vector store, a search engine or `keywordRetriever()`.
 * Source: Arc Reactor, `DocumentRetriever`.
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
