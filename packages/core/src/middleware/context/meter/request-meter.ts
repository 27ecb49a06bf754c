import { AgentError } from '../../../error/agent-error.ts';
import type { Msg } from '../../../message/msg.ts';
import { arc } from '../../../tokens/arc-profile.ts';
import { countMessage } from '../../../tokens/count-message.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';
import { headOf, type ContextRequest } from '../context-policy.ts';
import { countAround, MessageSums, requestCounter } from './request-counter.ts';

/**
 * Ratio of reported to estimated tokens for each model. `TokenCalibration` learns these ratios from
 * the usage that models report.
 */
export interface TokenRatios {
  /** Returns the reported tokens per estimated token, or 1 if the ratio is unknown. */
  ratioOf(modelId: string): number;
}

export interface WindowOptions {
  /**
   * Number of tokens that fit in the model's context window. Default: the model's
   * `features.contextWindow`. If the model does not state its window, a request fails with
   * `CONFIGURATION`.
   */
  readonly window?: number;
  /** Tokens kept free for the answer. Default 4096. */
  readonly reserveOutput?: number;
  /** Token profile that counts the request. Default `arc`. */
  readonly profile?: TokenProfile;
  /** Ratios that correct the counts of `profile` for the model in use. Default: no correction. */
  readonly calibration?: TokenRatios;
}

export interface Measured {
  readonly window: number;
  readonly reserveOutput: number;
  /** Index of the conversation's first message. */
  readonly start: number;
  /** Index of the current prompt, or `start - 1` without a prompt. */
  readonly prompt: number;
  /**
   * Running totals: `sums[i]` is the number of tokens of the first `i` messages. `sums`, `fixed`
   * and `budget` are uncorrected.
   */
  readonly sums: readonly number[];
  /**
   * Number of tokens of the parts that every request contains: the messages before the
   * conversation, the tools, and the additional message `beside`.
   */
  readonly fixed: number;
  /** Maximum number of tokens of the conversation. */
  readonly budget: number;
  /** Factor from uncorrected to corrected tokens. */
  readonly factor: number;
  /** Converts uncorrected tokens to corrected ones. */
  corrected(tokens: number): number;
}

/** Fields of `WindowOptions` for `checkOptions`. */
export const windowFields =
  'window:count|? reserveOutput:count|? profile:countText()|? calibration:ratioOf()|?';

/** Measures requests against a model's window. */
export class RequestMeter {
  readonly #where: string;
  readonly #options: WindowOptions;
  readonly #profile: TokenProfile;
  readonly #sums: MessageSums;
  readonly #count: (request: ContextRequest) => number;

  /** Throws `CONFIGURATION` for an invalid option. The message names `where` and the option. */
  constructor(where: string, options: WindowOptions) {
    this.#where = where;
    this.#options = options;
    this.#profile = options.profile ?? arc;
    this.#sums = new MessageSums(this.#profile);
    this.#count = requestCounter(this.#profile);
    if (options.window !== undefined) this.#checkWindow(options.window);
  }

  /** Measures a request. `extra` is a number of tokens to keep free in addition to the answer. */
  measure(request: ContextRequest, extra = 0): Measured {
    const { messages, promptId, model } = request;
    const { window = model?.features.contextWindow, reserveOutput = defaultReserve } =
      this.#options;
    if (window === undefined) {
      throw new AgentError(
        'CONFIGURATION',
        `${this.#where}: set window; the model "${model?.modelId}" does not state one.`,
      );
    }
    this.#checkWindow(window, extra);
    const start = headOf(request);
    const factor = this.#factor(model?.modelId);
    const sums = this.#sums.of(messages);
    const fixed = sums[start]! + countAround(request, this.#profile);
    return {
      window,
      reserveOutput,
      start,
      prompt: Math.max(
        promptId === undefined ? -1 : messages.findLastIndex(({ id }) => id === promptId),
        start - 1,
      ),
      sums,
      fixed,
      budget: Math.floor((window - reserveOutput) / factor) - fixed,
      factor,
      corrected: (tokens) => Math.round(tokens * factor),
    };
  }

  /** Counts the corrected tokens of a whole request. */
  count(request: ContextRequest): number {
    return Math.round(this.#count(request) * this.#factor(request.model?.modelId));
  }

  /** Counts the uncorrected tokens of a message. */
  countMessage(message: Msg): number {
    return countMessage(message, this.#profile);
  }

  #checkWindow(window: number, extra = 0): void {
    const { reserveOutput = defaultReserve } = this.#options;
    if (window > reserveOutput + extra) return;
    const more = extra ? ` and the ${extra} for a summary` : '';
    const text = `${this.#where}: a window of ${window} tokens has no room after reserveOutput (${reserveOutput} for the answer${more}).`;
    throw new AgentError('CONFIGURATION', text);
  }

  /**
   * Returns the correction factor, rounded up to the next multiple of 0.05. Without rounding, each
   * reply would change the factor slightly and move the cut of the conversation. Prompt caches
   * would then never match.
   */
  #factor(modelId: string | undefined): number {
    if (modelId === undefined) return 1;
    const ratio = this.#options.calibration?.ratioOf(modelId) ?? 1;
    if (ratio > 0 && ratio < Infinity) return Math.ceil(ratio * 20 - 1e-9) / 20;
    throw new AgentError(
      'CONFIGURATION',
      `${this.#where}: calibration must return a ratio above 0, not ${ratio}.`,
    );
  }
}

const defaultReserve = 4096;
