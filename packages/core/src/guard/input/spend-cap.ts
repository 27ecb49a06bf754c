import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { Usage } from '../../model/usage.ts';
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
  /** What a user may spend in a window: tokens, or what `price` gives. */
  readonly limit: number;
  /** Milliseconds from the first spending; default a day. */
  readonly window?: number;
  /** What a call cost; default: its tokens, in and out. `modelId` is that of the agent's model. */
  readonly price?: (usage: Usage, modelId: string) => number;
}

/**
 * What a user may spend. Each call's usage is added when it has ended, a failed one's too; from the
 * limit on calls are refused until the window ends. A call that began below it runs to its end, so
 * calls at the same time can go over it: `limits.tokens` bounds each. What a reply cost that was
 * cut off, by an interrupt, a failure or an output guard, no provider reports; it is estimated.
 * Where `price` throws or gives no amount, the call counts as the whole limit.
 */
export function spendCap(options: SpendCapOptions): InputStage {
  checkFields(
    'CONFIGURATION',
    'spendCap()',
    options,
    'limit:count window:count|? price:function|?',
  );
  checkCounterOptions('spendCap()', options);
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
    const count = await store.add(`spend:${user}`, amount, { ms: window, now: time });
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
        throw new AgentError('CONFIGURATION', 'The price of a call is no amount.');
    },
  };
}

function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Infinity;
}
