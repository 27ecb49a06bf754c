/** How one family of models counts: its text estimator, and what a request costs beside its text. */
export interface TokenProfile {
  readonly name: string;
  /** Tokens of a text; 0 for the empty one. */
  countText(text: string): number;
  /** Added for each message: its role and delimiters. */
  readonly perMessage: number;
  /** Added for each tool call, beside its name and arguments. */
  readonly perToolCall: number;
  /** An image, a recording, a file: their bytes are never counted as text. */
  readonly perMedia: number;
}
