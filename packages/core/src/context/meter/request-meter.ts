import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { Msg } from '../../message/msg.ts';
import { arc } from '../../tokens/arc-profile.ts';
import { countMessage } from '../../tokens/count-message.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import type { ContextRequest } from '../../loop/context-policy.ts';
import { MessageSums } from './message-sums.ts';
import { countAround, requestCounter } from './request-counter.ts';
import { headOf } from './request-head.ts';

/** What is known of a model's real counts, as `TokenCalibration` learns it from reported usage. */
export interface TokenRatios {
  /** Reported tokens for an estimated one; 1 where nothing is known. */
  ratioOf(modelId: string): number;
}

export interface WindowOptions {
  /**
   * Tokens the model can hold. Default: what the model says in `features.contextWindow`;
   * `CONFIGURATION` where it says nothing.
   */
  readonly window?: number;
  /** Tokens kept free for the answer. Default 4096. */
  readonly reserveOutput?: number;
  /** How tokens are counted. Default `arc`. */
  readonly profile?: TokenProfile;
  /** Corrects what `profile` counts, for the model that is asked. Default: no correction. */
  readonly calibration?: TokenRatios;
}

export interface Measured {
  readonly window: number;
  readonly reserveOutput: number;
  /** Index of the conversation's first message. */
  readonly start: number;
  /** Index of the current prompt; one before `start`: there is none. */
  readonly prompt: number;
  /** `sums[i]`: tokens of the first `i` messages, uncorrected, as `fixed` and `budget`. */
  readonly sums: readonly number[];
  /** Tokens of all that stays: head, tools, what is sent beside. */
  readonly fixed: number;
  /** Tokens the conversation may have. */
  readonly budget: number;
  /** What uncorrected tokens are multiplied by. */
  readonly factor: number;
  /** Uncorrected tokens as corrected ones. */
  corrected(tokens: number): number;
}

/** Measures requests against a model's window. */
export class RequestMeter {
  readonly #where: string;
  readonly #options: WindowOptions;
  readonly #profile: TokenProfile;
  readonly #sums: MessageSums;
  readonly #count: (request: ContextRequest) => number;

  /** Throws `CONFIGURATION` that names `where` and the field. */
  constructor(where: string, options: WindowOptions) {
    checkFields(
      'CONFIGURATION',
      where,
      options,
      'window:count|? reserveOutput:count|? profile:countText()|? calibration:ratioOf()|?',
    );
    this.#where = where;
    this.#options = options;
    this.#profile = options.profile ?? arc;
    this.#sums = new MessageSums(this.#profile);
    this.#count = requestCounter(this.#profile);
    if (options.window !== undefined) this.#checkWindow(options.window);
  }

  /** `extra`: tokens that are needed beside the answer. */
  measure(request: ContextRequest, extra = 0): Measured {
    const { messages, promptId, model } = request;
    const { window = model?.features.contextWindow, reserveOutput = defaultReserve } =
      this.#options;
    if (window === undefined) {
      throw new AgentError(
        'CONFIGURATION',
        `${this.#where}: window must be given; the model "${model?.modelId}" does not say its own.`,
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

  /** Corrected tokens of a whole request. */
  count(request: ContextRequest): number {
    return Math.round(this.#count(request) * this.#factor(request.model?.modelId));
  }

  /** Uncorrected tokens. */
  countMessage(message: Msg): number {
    return countMessage(message, this.#profile);
  }

  #checkWindow(window: number, extra = 0): void {
    const { reserveOutput = defaultReserve } = this.#options;
    if (window > reserveOutput + extra) return;
    const more = extra ? ` and the ${extra} for a summary` : '';
    const text = `${this.#where}: a window of ${window} tokens leaves nothing beside reserveOutput, the ${reserveOutput} for the answer${more}.`;
    throw new AgentError('CONFIGURATION', text);
  }

  /**
   * In steps of a twentieth, upwards: a ratio that moved a little with each reply would move the
   * cut as well, and no prompt cache would hold.
   */
  #factor(modelId: string | undefined): number {
    if (modelId === undefined) return 1;
    const ratio = this.#options.calibration?.ratioOf(modelId) ?? 1;
    if (ratio > 0 && ratio < Infinity) return Math.ceil(ratio * 20 - 1e-9) / 20;
    throw new AgentError(
      'CONFIGURATION',
      `${this.#where}: calibration must give a ratio above 0, not ${ratio}.`,
    );
  }
}

const defaultReserve = 4096;
