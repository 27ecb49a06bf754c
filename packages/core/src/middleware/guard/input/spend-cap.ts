import { keyPrefix } from '../../../memory/storage-keys.ts';
import { AgentError } from '../../../error/agent-error.ts';
import type { Usage } from '../../../model/usage.ts';
import { memoryCounters } from './counter-store.ts';
import type { InputStage } from './input-stage.ts';
import {
  checkCounterOptions,
  limitReached,
  readKey,
  readTotal,
  userOf,
  type CounterOptions,
} from './rate-limit.ts';

export interface SpendCapOptions extends CounterOptions {
  /** Maximum amount that a user may spend in a window, in tokens or in the unit of `price`. */
  readonly limit: number;
  /**
   * Length of a window in milliseconds. A window begins when an agent call first adds an amount.
   * Default: one day.
   */
  readonly window?: number;
  /**
   * Returns the cost of an agent call. `modelId` is the id of the agent's model. Default: the
   * number of input and output tokens.
   */
  readonly price?: (usage: Usage, modelId: string) => number;
}

/**
 * Limits how much a user may spend. Each agent call adds its usage when it ends, even if it failed.
 * At the limit, agent calls are rejected until the window ends. An agent call that began below the
 * limit runs to its end, so concurrent agent calls can exceed the limit. Use the agent's
 * `limits.tokens` to bound each agent call. If an interrupt, a failure or an output guard cuts off
 * a reply, the provider does not report its usage. That usage is estimated. If `price` throws or
 * returns an invalid amount, the agent call adds the whole limit.
 */
export function spendCap(options: SpendCapOptions): InputStage {
  checkCounterOptions('spendCap()', options, 'limit:count window:count|? price:function|?');
  const {
    limit,
    window = 86_400_000,
    price = tokensOf,
    key = userOf,
    store = memoryCounters(),
    now = Date.now,
  } = options;
  const add = async (user: string, amount: number) => {
    const time = now();
    const count = await store.add(`${keyPrefix.spend}${user}`, amount, { ms: window, now: time });
    return { count, time };
  };
  return {
    name: 'spendCap',
    async check(input, context) {
      const { count, time } = await add(readKey(key(context)), 0);
      return readTotal(count) < limit ? input : limitReached(count, time);
    },
    async after({ usage, modelId }, context) {
      if (!tokensOf(usage)) return;
      const user = readKey(key(context));
      let amount: unknown = NaN;
      try {
        amount = price(usage, modelId);
      } finally {
        await add(user, isAmount(amount) ? amount : limit);
      }
      if (!isAmount(amount))
        throw new AgentError('CONFIGURATION', 'The price of a call must be a number of 0 or more.');
    },
  };
}

function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Infinity;
}
