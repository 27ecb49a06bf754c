import type { MediaBlock } from '../message/content-block.ts';

/**
 * Counts of one family of models: its text estimator, and the cost of a request beside its text.
 * All in tokens.
 */
export interface TokenProfile {
  readonly name: string;
  /** Estimates the tokens of a text, not necessarily a whole number; 0 for an empty text. */
  countText(text: string): number;
  /** Tokens added once for each request: its frame, and the beginning of the answer. Default 0. */
  readonly perRequest?: number;
  /** Tokens added for each message: its role and delimiters. */
  readonly perMessage: number;
  /** Tokens added for each tool call, beside its name and arguments. */
  readonly perToolCall: number;
  /**
   * Tokens of an image, recording or file of unknown size, and the most that an image costs. Bytes
   * are never counted as text.
   */
  readonly perMedia: number;
  /**
   * Pixels per token of an inline image, whose size is read from its head. Default: each image
   * costs `perMedia`.
   */
  readonly imagePixels?: number | undefined;
  /**
   * Counts a media block in place of `perMedia` and `imagePixels`. Returns `undefined` to leave it
   * to them.
   */
  countMedia?(block: MediaBlock): number | undefined;
  /**
   * Whether the model gets its own thinking again, as models of the AI SDK do. `openai()` sends it
   * only with `sendThinking`, `dashscope()` never. Default true, so that a request is not longer
   * than estimated.
   */
  readonly thinking?: boolean;
  /** Cost of the tool definitions. Default: their JSON. */
  readonly tools?: ToolCosts;
}

/**
 * Cost of the tools in a request. It is `once`, and for each tool `each` plus `factor` times the
 * tokens of its JSON.
 */
export interface ToolCosts {
  readonly once: number;
  readonly each: number;
  readonly factor: number;
}
