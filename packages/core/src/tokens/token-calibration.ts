import { AgentError } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import type { Usage } from '../model/usage.ts';
import { arc } from './arc-profile.ts';
import { countRequest } from './count-message.ts';
import type { TokenProfile } from './token-profile.ts';

export interface TokenCalibrationOptions {
  /** The profile that the ratios correct. Default `arc`. */
  readonly profile?: TokenProfile;
  /** Weight of a new request against the known ratio, above 0 and up to 1. Default 0.3. */
  readonly weight?: number;
  /** Initial ratios by model, as `ratios()` returns them. */
  readonly ratios?: Readonly<Record<string, number>>;
}

/** A request as it was sent, with the usage that its provider reported. */
export interface ObservedRequest extends Pick<ModelRequest, 'messages' | 'responseSchema'> {
  /**
   * Tools that were sent; an empty array if there were none. If `tools` is `undefined`, the
   * calibration does not learn from the request.
   */
  readonly tools: ModelRequest['tools'] | undefined;
  /** Usage as the model reported it. Not every provider does. */
  readonly usage: Usage | undefined;
}

/** Limits of a ratio. The tokenizer does not explain a larger deviation. */
const lowest = 0.6;
const highest = 2;

/**
 * Estimated tokens from which a request counts fully. Most tokens of a short one are added by the
 * provider.
 */
const fullSize = 1000;

/**
 * Learns, for each model, how many tokens its provider reports per token that a profile estimates.
 * Each model name has its own ratio: a moving average that stays between 0.6 and 2. A correction is
 * a factor, so that messages counted before need not be counted again.
 */
export class TokenCalibration {
  readonly #profile: TokenProfile;
  readonly #weight: number;
  readonly #models = new Map<string, { ratio: number; requests: number }>();

  /**
   * Throws `CONFIGURATION` for a weight that is not above 0 and up to 1, or a ratio that is not
   * above 0.
   */
  constructor({ profile = arc, weight = 0.3, ratios = {} }: TokenCalibrationOptions = {}) {
    if (!(weight > 0 && weight <= 1))
      throw new AgentError('CONFIGURATION', `A weight of ${weight} is not above 0 and up to 1.`);
    this.#profile = profile;
    this.#weight = weight;
    for (const [modelId, ratio] of Object.entries(ratios)) {
      if (!(ratio > 0))
        throw new AgentError('CONFIGURATION', `The ratio ${ratio} of ${modelId} is not above 0.`);
      this.#models.set(modelId, { ratio: clamped(ratio), requests: Infinity });
    }
  }

  /**
   * Learns from a request. Returns false if it is not usable: with media, with a response schema,
   * or without reported tokens. It also returns false if `tools` is `undefined` or the usage has
   * more cached than input tokens.
   */
  observe(modelId: string, { messages, tools, responseSchema, usage }: ObservedRequest): boolean {
    const reported = usage?.inputTokens ?? 0;
    const cached = usage?.cachedInputTokens ?? 0;
    if (!tools || responseSchema || !(reported > 0 && reported < Infinity) || cached > reported)
      return false;
    const estimated = countRequest({ messages, tools }, this.#profile);
    if (estimated === 0 || messages.some(hasMedia)) return false;
    const { ratio, requests } = this.#models.get(modelId) ?? { ratio: 1, requests: 0 };
    const share = Math.max(this.#weight, 1 / (requests + 1)) * Math.min(1, estimated / fullSize);
    const seen = clamped(reported / estimated);
    this.#models.set(modelId, { ratio: ratio + share * (seen - ratio), requests: requests + 1 });
    return true;
  }

  /** Returns the reported tokens per estimated token; 1 for a model that was not observed. */
  ratioOf(modelId: string): number {
    return this.#models.get(modelId)?.ratio ?? 1;
  }

  /** Corrects an estimate of the calibration's profile for a model. */
  correct(modelId: string, tokens: number): number {
    return Math.round(tokens * this.ratioOf(modelId));
  }

  /** Returns the ratios of all observed models, for storage. */
  ratios(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#models].map(([modelId, { ratio }]) => [modelId, ratio]));
  }
}

function clamped(ratio: number): number {
  return Math.min(highest, Math.max(lowest, ratio));
}

function hasMedia({ content }: Msg): boolean {
  return content.some(holdsMedia);
}

function holdsMedia(block: Msg['content'][number]): boolean {
  if (block.type === 'tool_result')
    return typeof block.output !== 'string' && block.output.some(holdsMedia);
  return 'source' in block;
}
