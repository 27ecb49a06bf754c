import type { JsonObject } from '../../message/json.ts';

/** A piece of text that matches a query. */
export interface RetrievedDocument {
  /** The id of the piece. If two documents have one id, the better one is used. */
  readonly id?: string;
  /** The text that the model sees. */
  readonly content: string;
  /** The source as the model should cite it: a title, a path, a URL. */
  readonly source?: string;
  /**
   * How well the document matches: higher is better. From 0 to 1 for the threshold of
   * `retrieval()`.
   */
  readonly score?: number;
  readonly metadata?: JsonObject;
}

export interface RetrieveOptions {
  /** Maximum number of documents to return. */
  readonly topK: number;
  /** Aborts when nobody waits for the search anymore. */
  readonly signal: AbortSignal;
  /** Conditions for the documents, in the retriever's own terms: a tenant, a language. */
  readonly filters?: JsonObject | undefined;
  readonly sessionId?: string;
}

/**
 * Finds text for a query: a vector store, a search engine, `keywordRetriever()` (Arc Reactor:
 * `DocumentRetriever`).
 */
export interface Retriever {
  /** Returns the matching documents, best first; an empty array if none matches. */
  retrieve(query: string, options: RetrieveOptions): Promise<readonly RetrievedDocument[]>;
  /**
   * The lowest useful score, if the retriever's scores are not similarities. `retrieval()` uses it
   * instead of its own 0.7.
   */
  readonly threshold?: number;
}
