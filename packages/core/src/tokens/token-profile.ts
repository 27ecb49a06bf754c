import type { MediaBlock } from '../message/msg.ts';

/**
 * How to estimate tokens for one family of models. A profile has an estimator for texts, and fixed
 * costs in tokens.
 */
export interface TokenProfile {
  readonly name: string;
  /**
   * Estimates the tokens of a text. The result may have a fraction. Returns 0 for an empty text.
   */
  countText(text: string): number;
  /** Tokens that each request costs in addition to its messages and tools. Default: 0. */
  readonly perRequest?: number;
  /** Tokens that each message costs in addition to its content, for the role and the delimiters. */
  readonly perMessage: number;
  /** Tokens that each tool call costs in addition to its name and arguments. */
  readonly perToolCall: number;
  /** Tokens of a media block of unknown size. Also the maximum for an image of known size. */
  readonly perMedia: number;
  /**
   * Pixels per token of an inline image. `imageSize` reads the size from the image. Default: each
   * image costs `perMedia`.
   */
  readonly imagePixels?: number | undefined;
  /**
   * Returns the tokens of a media block. If it returns `undefined`, `perMedia` and `imagePixels`
   * apply.
   */
  countMedia?(block: MediaBlock): number | undefined;
  /**
   * Whether requests contain the thinking of earlier replies. With models of the AI SDK they do,
   * with `openai()` only if `sendThinking` is on, and with `dashscope()` never. Default: true, so
   * that no thinking is left out of the estimate.
   */
  readonly thinking?: boolean;
  /** Cost of the tool definitions. Default: the tokens of their JSON. */
  readonly tools?: ToolCosts;
}

/**
 * Cost of the tools in a request, in tokens. The cost is `once` for the request. Each tool adds
 * `each`, plus `factor` times the tokens of its JSON.
 */
interface ToolCosts {
  readonly once: number;
  readonly each: number;
  readonly factor: number;
}

/**
 * Costs for OpenAI, Gemini and Kimi, whose models get tool definitions in a shorter form than JSON.
 */
export const compactTools: ToolCosts = { once: 20, each: 6, factor: 0.95 };

/** Costs for models that get tool definitions as JSON. */
export const jsonTools: ToolCosts = { once: 60, each: 30, factor: 1.25 };

/** Costs for Claude. `once` includes the instructions for using tools that Claude's server adds. */
export const claudeTools: ToolCosts = { once: 410, each: 30, factor: 1.25 };
