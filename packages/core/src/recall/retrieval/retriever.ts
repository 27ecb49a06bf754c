import type { JsonObject } from '../../message/json.ts';

/** A piece of text that fits a query. */
export interface RetrievedDocument {
  /** The same for the same piece: of two with one id the better one is used. */
  readonly id?: string;
  /** What the model is shown. */
  readonly content: string;
  /** Where it comes from, as the model is to name it: a title, a path, a URL. */
  readonly source?: string;
  /** How well it fits: higher is better. For `retrieval()`'s threshold from 0 to 1. */
  readonly score?: number;
  readonly metadata?: JsonObject;
}

export interface RetrieveOptions {
  /** Documents at most. */
  readonly topK: number;
  /** Raised when nobody waits any more. */
  readonly signal: AbortSignal;
  /** What the documents have to be, in the retriever's own terms: a tenant, a language. */
  readonly filters?: JsonObject | undefined;
  readonly sessionId?: string;
}

/**
 * What finds text for a query: a vector store, a search engine, `keywordRetriever()` (Arc Reactor:
 * `DocumentRetriever`).
 */
export interface Retriever {
  /** What fits, the best first. An empty array where nothing does. */
  retrieve(query: string, options: RetrieveOptions): Promise<readonly RetrievedDocument[]>;
  /**
   * From which score on a document is worth it, where its scores are no similarity; `retrieval()`
   * takes it instead of its own 0.7.
   */
  readonly threshold?: number;
}
