import { chatModel } from '../model/model-kind.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { misconfigured } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { number, object, optional, withMethod } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { isMedia } from '../message/media/media.ts';
import type { ContentBlock } from '../message/msg.ts';
import type { ChatModel, ModelRequest, Usage } from '../model/chat-model.ts';
import { withStream } from '../model/wrap-model.ts';
import { arc } from './arc-profile.ts';
import { countRequest } from './count-message.ts';
import type { TokenProfile } from './token-profile.ts';

/** What a calibration corrects, and how fast it learns. */
export interface TokenCalibrationOptions {
  /** Profile whose estimates the calibration corrects. Default: `arc`. */
  readonly profile?: TokenProfile;
  /** Weight of a new request in the moving average, above 0 and up to 1. Default: 0.3. */
  readonly weight?: number;
  /** Initial ratios by model name, as `ratios()` returns them. Default: none. */
  readonly ratios?: Readonly<Record<string, number>>;
}

/** Request as it was sent, with the usage that the provider reported. */
export interface ObservedRequest extends Pick<ModelRequest, 'messages' | 'responseSchema'> {
  /**
   * Tools that were sent, or an empty array. If `tools` is `undefined`, the calibration ignores the
   * request.
   */
  readonly tools: ModelRequest['tools'] | undefined;
  /** Usage that the model reported. Some providers report none. */
  readonly usage: Usage | undefined;
}

/** Limits of a ratio. A larger deviation has another cause than the tokenizer. */
const minRatio = 0.6;
const maxRatio = 2;

/**
 * Number of estimated tokens from which a request has its full weight. A shorter request has less
 * weight, because tokens that the provider adds distort its ratio.
 */
const fullSize = 1000;

/**
 * Learns a ratio for each model name: the tokens that the provider reports, divided by the tokens
 * that a profile estimates. The ratio is a moving average between 0.6 and 2. `correct` multiplies
 * an estimate by the ratio, so earlier counts of messages stay usable.
 */
export class TokenCalibration {
  readonly #profile: TokenProfile;
  readonly #weight: number;
  readonly #models = new Map<string, { ratio: number; requests: number }>();

  /**
   * Throws `CONFIGURATION` if the weight is not above 0 and up to 1, or if a ratio is not above 0.
   */
  constructor(options: TokenCalibrationOptions = {}) {
    checkOptions('TokenCalibration', options, tokenCalibrationOptions);
    const { profile = arc, weight = 0.3, ratios = {} } = options;
    if (!(weight > 0 && weight <= 1))
      throw misconfigured(`The weight must be above 0 and at most 1, not ${weight}.`);
    this.#profile = profile;
    this.#weight = weight;
    for (const [modelId, ratio] of Object.entries(ratios)) {
      if (!(ratio > 0))
        throw misconfigured(`The ratio of ${modelId} must be above 0, not ${ratio}.`);
      this.#models.set(modelId, { ratio: clampRatio(ratio), requests: Infinity });
    }
  }

  /**
   * Learns from a request. Ignores the request and returns false in these cases:
   *
   * - the messages have media;
   * - the request has a response schema;
   * - the provider reported no input tokens, or more cached than input tokens;
   * - `tools` is `undefined`.
   */
  observe(modelId: string, { messages, tools, responseSchema, usage }: ObservedRequest): boolean {
    const reported = usage?.inputTokens ?? 0;
    const cached = usage?.cachedInputTokens ?? 0;
    if (!tools || responseSchema || !(reported > 0 && reported < Infinity) || cached > reported)
      return false;
    const estimated = countRequest({ messages, tools }, this.#profile);
    if (estimated === 0 || messages.some(({ content }) => content.some(holdsMedia))) return false;
    const { ratio, requests } = this.#models.get(modelId) ?? { ratio: 1, requests: 0 };
    const share = Math.max(this.#weight, 1 / (requests + 1)) * Math.min(1, estimated / fullSize);
    const sample = clampRatio(reported / estimated);
    this.#models.set(modelId, { ratio: ratio + share * (sample - ratio), requests: requests + 1 });
    return true;
  }

  /**
   * Returns the number of reported tokens per estimated token. Returns 1 for a model that was not
   * observed.
   */
  ratioOf(modelId: string): number {
    return this.#models.get(modelId)?.ratio ?? 1;
  }

  /**
   * Returns a corrected estimate for a model. `tokens`: the estimate of the calibration's profile.
   */
  correct(modelId: string, tokens: number): number {
    return Math.round(tokens * this.ratioOf(modelId));
  }

  /** Returns the ratios of all observed models, for storage. */
  ratios(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#models].map(([modelId, { ratio }]) => [modelId, ratio]));
  }
}

const tokenCalibrationOptions: OptionTable<TokenCalibrationOptions> = {
  profile: optional(withMethod('countText')),
  weight: optional(number),
  ratios: optional(object),
};

const calibrated = { model: chatModel, calibration: withMethod('observe') };

/**
 * Wraps a model so that a calibration learns from the usage that the model reports. The calibration
 * stores the result under the model's name.
 *
 * Wrap the model itself, inside all other wrappers. `retry()` adds up the usage of several
 * attempts, and a cached reply has the usage of an earlier request. With `fallback()`, wrap each
 * model separately.
 */
export function withCalibration(model: ChatModel, calibration: TokenCalibration): ChatModel {
  checkFields('withCalibration()', { model, calibration }, calibrated);
  return withStream(model, async function* (request, context) {
    for await (const deltas of model.stream(request, context)) {
      const last = deltas.at(-1);
      if (last?.type === 'finish')
        calibration.observe(model.modelId, { ...request, usage: last.usage });
      yield deltas;
    }
  });
}

function clampRatio(ratio: number): number {
  return Math.min(maxRatio, Math.max(minRatio, ratio));
}

function holdsMedia(block: ContentBlock): boolean {
  if (block.type === 'tool_result')
    return typeof block.output !== 'string' && block.output.some(holdsMedia);
  return isMedia(block);
}
