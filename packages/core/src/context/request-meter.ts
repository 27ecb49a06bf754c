import { misconfigured } from '../error/agent-error.ts';
import { nonNegative, optional, withMethod } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { Msg } from '../message/msg.ts';
import { headEnd, type ContextRequest } from './context-policy.ts';
import { arc } from '../tokens/arc-profile.ts';
import { countMessage, countTools } from '../tokens/count-message.ts';
import type { TokenProfile } from '../tokens/token-profile.ts';

/**
 * Ratio of reported to estimated tokens for each model. `TokenCalibration` learns these ratios from
 * the usage that models report.
 */
export interface TokenRatios {
  /** Returns the reported tokens per estimated token, or 1 if the ratio is unknown. */
  ratioOf(modelId: string): number;
}

/** The size of the context window, and how tokens are counted. */
export interface WindowOptions {
  /**
   * Number of tokens that fit in the model's context window. Default: the model's
   * `features.contextWindow`. If the model does not state its window, a request fails with
   * `CONFIGURATION`.
   */
  readonly window?: number;
  /** Tokens kept free for the answer. Default: 4096. */
  readonly reserveOutput?: number;
  /** Token profile that counts the request. Default: `arc`. */
  readonly profile?: TokenProfile;
  /** Ratios that correct the counts of `profile` for the model in use. Default: no correction. */
  readonly calibration?: TokenRatios;
}

export interface RequestSize {
  readonly window: number;
  readonly reserveOutput: number;
  /** Index of the conversation's first message. */
  readonly start: number;
  /** Index of the current question, or `start - 1` without a question. */
  readonly questionIndex: number;
  /**
   * Running totals: `sums[i]` is the number of tokens of the first `i` messages. `sums`,
   * `fixedTokens` and `budget` are uncorrected.
   */
  readonly sums: readonly number[];
  /**
   * Number of tokens of the parts that every request contains: the messages before the
   * conversation, the tools, and the additional messages `addedLater`.
   */
  readonly fixedTokens: number;
  /** Maximum number of tokens of the conversation. */
  readonly budget: number;
  /** Factor from uncorrected to corrected tokens. */
  readonly factor: number;
  /** Converts uncorrected tokens to corrected ones. */
  correct(tokens: number): number;
}

export const windowOptions: OptionTable<WindowOptions> = {
  window: optional(nonNegative),
  reserveOutput: optional(nonNegative),
  profile: optional(withMethod('countText')),
  calibration: optional(withMethod('ratioOf')),
};

/** Measures a request. `extra`: number of tokens to keep free in addition to the answer. */
export type RequestMeter = (request: ContextRequest, extra?: number) => RequestSize;

/**
 * Makes a function that measures requests against a model's window. Throws `CONFIGURATION` for a
 * window without room. The message names `where` and the option.
 */
export function requestMeter(where: string, options: WindowOptions): RequestMeter {
  const { reserveOutput = 4096, profile = arc, calibration } = options;
  const sumsOf = messageSums(profile);
  const checkWindow = (window: number, extra = 0): void => {
    if (window > reserveOutput + extra) return;
    const more = extra ? ` and the ${extra} for a summary` : '';
    const room = `no room after reserveOutput (${reserveOutput} for the answer${more})`;
    throw misconfigured(`${where}: a window of ${window} tokens has ${room}.`);
  };
  if (options.window !== undefined) checkWindow(options.window);
  return (request, extra) => {
    const { messages, questionId, model } = request;
    const { window = model?.features.contextWindow } = options;
    if (window === undefined)
      throw misconfigured(
        `${where}: set window; the model "${model?.modelId}" does not state one.`,
      );
    checkWindow(window, extra);
    const start = headEnd(request);
    const factor = model && calibration ? factorOf(where, model.modelId, calibration) : 1;
    const sums = sumsOf(messages);
    const fixedTokens = sums[start]! + countOverhead(request, profile);
    const index = messages.findLastIndex(({ id }) => id === questionId);
    return {
      window,
      reserveOutput,
      start,
      questionIndex: Math.max(index, start - 1),
      sums,
      fixedTokens,
      budget: Math.floor((window - reserveOutput) / factor) - fixedTokens,
      factor,
      correct: (tokens) => Math.round(tokens * factor),
    };
  };
}

/**
 * Returns the factor that corrects token counts, rounded up to the next multiple of 0.05. Without
 * rounding, each reply would change the factor slightly and move the point at which the
 * conversation is trimmed. Prompt caches would then never match.
 */
function factorOf(where: string, modelId: string, calibration: TokenRatios): number {
  const ratio = calibration.ratioOf(modelId);
  if (ratio > 0 && ratio < Infinity) return Math.ceil(ratio * 20 - 1e-9) / 20;
  throw misconfigured(`${where}: calibration must return a ratio above 0, not ${ratio}.`);
}

/**
 * Makes a function that counts the tokens of a whole request. If a request extends the previous
 * one, only the new messages are counted.
 */
export function requestCounter(profile: TokenProfile): (request: ContextRequest) => number {
  const sumsOf = messageSums(profile);
  return (request) => sumsOf(request.messages).at(-1)! + countOverhead(request, profile);
}

/** Counts the tokens of a request, except those of its messages. */
function countOverhead({ tools, addedLater = [] }: ContextRequest, profile: TokenProfile): number {
  return (
    (profile.perRequest ?? 0) +
    countTools(tools, profile) +
    addedLater.reduce((tokens, message) => tokens + countMessage(message, profile), 0)
  );
}

/**
 * Makes a function that returns the running totals of a message list: `sums[i]` is the number of
 * tokens of the first `i` messages. If a list begins like the previous one, the shared messages are
 * not counted again. The array is valid until the next call.
 */
function messageSums(profile: TokenProfile): (messages: readonly Msg[]) => readonly number[] {
  const previous: Msg[] = [];
  const sums = [0];
  return (messages) => {
    const firstNewIndex = messages.findIndex((message, index) => message !== previous[index]);
    const sharedCount = firstNewIndex < 0 ? messages.length : firstNewIndex;
    previous.length = sharedCount;
    sums.length = sharedCount + 1;
    for (let i = sharedCount; i < messages.length; i++) {
      const message = messages[i]!;
      previous.push(message);
      sums.push(sums[i]! + countMessage(message, profile));
    }
    return sums;
  };
}
