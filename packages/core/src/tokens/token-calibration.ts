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
  /** Weight of a new request against what is known, above 0 to 1. Default 0.3. */
  readonly weight?: number;
  /** Ratios by model to begin with, as `ratios()` gave them. */
  readonly ratios?: Readonly<Record<string, number>>;
}

/** A request as it was sent, and what its provider says about it. */
export interface ObservedRequest extends Pick<ModelRequest, 'messages' | 'responseSchema'> {
  /**
   * Those that were sent, none as an empty array; a request that does not say is not learned from.
   */
  readonly tools: ModelRequest['tools'] | undefined;
  /** As the model reported it; not every provider does. */
  readonly usage: Usage | undefined;
}

/** A ratio stays between these: what is farther away is no matter of the tokenizer. */
const lowest = 0.6;
const highest = 2;

/**
 * From so many estimated tokens on a request counts fully; of a short one, most are what the
 * provider adds.
 */
const fullSize = 1000;

/**
 * Learns, for each model, how many tokens its provider reports for one that a profile estimates: a
 * moving average of 0.6 to 2, by the model's name. A correction is a factor, so that messages
 * counted before need not be counted again.
 */
export class TokenCalibration {
  readonly #profile: TokenProfile;
  readonly #weight: number;
  readonly #models = new Map<string, { ratio: number; requests: number }>();

  /** `CONFIGURATION` for a weight or a ratio that is none. */
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
   * Learns from a request. False for one that is no measure: with media, with a response schema,
   * without reported tokens, with more of them from a cache than there were in all, or not saying
   * which tools were sent.
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

  /** Reported tokens for an estimated one; 1 for a model that was not observed. */
  ratioOf(modelId: string): number {
    return this.#models.get(modelId)?.ratio ?? 1;
  }

  /** An estimate of the calibration's profile, corrected for a model. */
  correct(modelId: string, tokens: number): number {
    return Math.round(tokens * this.ratioOf(modelId));
  }

  /** Of all models observed, to be stored. */
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
