import {
  AgentError,
  type Middleware,
  type ModelRequest,
  type Msg,
  type EarlyRun,
  type Usage,
} from '@isoloop/core';
import { perRun } from '@isoloop/core/agent';
import {
  checkOptions,
  func,
  nonNegative,
  optional,
  withMethod,
  type OptionTable,
} from '@isoloop/core/options';
import { addUsage, withStream } from '@isoloop/core/model';
import { arc, type TokenProfile } from '@isoloop/core/tokens';
import { inputGuardOf } from '../input/input-guard.ts';
import { reporter } from '../rejection.ts';
import { deltasText, estimateUsage } from '../estimate-usage.ts';
import { counterOptions, limitReached, userCounter, type CounterOptions } from './user-counter.ts';

/** Beginning of the keys of these values in a store. */
export const spendKeyPrefix = 'spend:';

/** How much `spendCap()` lets a user spend, in which time, and how it is counted. */
export interface SpendCapOptions extends CounterOptions {
  /** Maximum amount that a user may spend in a window, in tokens or in the unit of `price`. */
  readonly limit: number;
  /**
   * Length of a window in milliseconds. A window begins when an agent call first adds an amount.
   * Default: one day.
   */
  readonly windowMs?: number;
  /**
   * Returns the cost of an agent call. `modelId` is the id of the agent's model. Default: the
   * number of input and output tokens.
   */
  readonly price?: (usage: Usage, modelId: string) => number;
  /**
   * Token profile that estimates the usage of model requests without reported usage, such as the
   * request of an incomplete reply. Default: `arc`.
   */
  readonly profile?: TokenProfile;
}

/** A model request whose usage the provider has not reported. */
interface UnreportedRequest {
  readonly request: ModelRequest;
  /** Text that the model has written so far. */
  replyText: string;
}

/**
 * Limits how much a user may spend. Each agent call adds its usage when it ends, even if it failed.
 * At the limit, agent calls are rejected until the window ends. An agent call that began below the
 * limit runs to its end, so concurrent agent calls can exceed the limit. Use the agent's
 * `limits.tokens` to bound each agent call. If an interrupt or a failure leaves a reply incomplete,
 * or the provider never reports usage, the usage is estimated. If `price` throws or returns an
 * invalid amount, the agent call adds the whole limit. An agent call without `userId` fails with
 * `CONFIGURATION` unless `key` says for whom to count. Otherwise, all users would share one limit.
 */
export function spendCap(options: SpendCapOptions): Middleware {
  checkOptions('spendCap()', options, spendCapOptions);
  const { limit, windowMs = 86_400_000, price = tokensOf } = options;
  const { profile = arc, name = 'spendCap' } = options;
  const add = userCounter(options);
  const report = reporter(options);
  const unreportedIn = perRun(() => new Set<UnreportedRequest>());
  const check = async (input: readonly Msg[], run: EarlyRun) => {
    const count = await add(run, spendKeyPrefix, 0, windowMs);
    return count.total < limit ? input : limitReached(count);
  };
  const spend = async (usage: Usage, run: EarlyRun): Promise<void> => {
    if (!tokensOf(usage)) return;
    let amount: unknown = NaN;
    try {
      amount = price(usage, run.model.modelId);
    } finally {
      await add(run, spendKeyPrefix, isAmount(amount) ? amount : limit, windowMs);
    }
    if (!isAmount(amount))
      throw new AgentError(
        'CONFIGURATION',
        `spendCap(): price() must return a number of 0 or more; got ${String(amount)}.`,
      );
  };
  return {
    ...inputGuardOf(name, check, options),
    wrapRun: async (input, next, run) => {
      // Before the agent call spends anything.
      if (!options.key && run.userId === undefined)
        throw new AgentError('CONFIGURATION', needsUser);
      try {
        return await next(input);
      } finally {
        let { usage } = run;
        for (const { request, replyText } of unreportedIn(run))
          if (replyText) usage = addUsage(usage, estimateUsage(request, replyText, profile));
        await spend(usage, run).catch((error: unknown) => report(error, name));
      }
    },
    wrapModel: (next) =>
      withStream(next, async function* (request, context) {
        const entry = { request, replyText: '' };
        const requests = context.run && unreportedIn(context.run);
        requests?.add(entry);
        for await (const batch of next.stream(request, context)) {
          entry.replyText += deltasText(batch);
          if (batch.some((delta) => delta.type === 'finish' && delta.usage))
            requests?.delete(entry);
          yield batch;
        }
      }),
  };
}

const spendCapOptions: OptionTable<SpendCapOptions> = {
  limit: nonNegative,
  windowMs: optional(nonNegative),
  price: optional(func),
  profile: optional(withMethod('countText')),
  ...counterOptions,
};

const needsUser = "spendCap() needs the agent's `userId`, or a `key` such as () => 'everybody'.";

function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Infinity;
}
