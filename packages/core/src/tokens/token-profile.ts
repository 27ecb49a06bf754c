import type { MediaBlock } from '../message/content-block.ts';

/**
 * How one family of models counts: its text estimator, and what a request costs beside its text.
 * All in tokens.
 */
export interface TokenProfile {
  readonly name: string;
  /** Tokens of a text, not necessarily whole; 0 for the empty one. */
  countText(text: string): number;
  /** Added once for each request: its frame, and the beginning of the answer. Default 0. */
  readonly perRequest?: number;
  /** Added for each message: its role and delimiters. */
  readonly perMessage: number;
  /** Added for each tool call, beside its name and arguments. */
  readonly perToolCall: number;
  /**
   * An image, a recording, a file of unknown size, and the most that an image costs: bytes are
   * never counted as text.
   */
  readonly perMedia: number;
  /**
   * Pixels a token of an inline image, whose size is read from its head. Default: each image costs
   * `perMedia`.
   */
  readonly imagePixels?: number | undefined;
  /** In the place of both; `undefined` for a medium that it leaves to them. */
  countMedia?(block: MediaBlock): number | undefined;
  /**
   * Whether a model is sent again what it thought, as those of the AI SDK are; `openai()` does so
   * with `sendThinking` alone, `dashscope()` never. Default true, so that a request is not longer
   * than estimated.
   */
  readonly thinking?: boolean;
  /** What the definitions of tools cost. Default: their JSON. */
  readonly tools?: ToolCosts;
}

/**
 * In a request with tools: `once`, and for each tool `each` and `factor` times the tokens of its
 * JSON.
 */
export interface ToolCosts {
  readonly once: number;
  readonly each: number;
  readonly factor: number;
}
