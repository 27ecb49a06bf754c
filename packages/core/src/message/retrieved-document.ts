import type { JsonObject } from './json/json.ts';

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
