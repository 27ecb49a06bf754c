import type { EarlyRun, Msg } from '@isoloop/core';
import { checkOptions, nonNegative, optional, type OptionTable } from '@isoloop/core/options';
import { inputGuardOf, type InputGuard } from '../input/input-guard.ts';
import { counterOptions, limitReached, userCounter, type CounterOptions } from './user-counter.ts';

/** Beginning of the keys of these values in a store. */
export const rateKeyPrefix = 'rate:';

/** How many agent calls `rateLimit()` lets a user make in a minute and in an hour. */
export interface RateLimitOptions extends CounterOptions {
  /** Maximum number of agent calls per minute. Default: 10. */
  readonly perMinute?: number;
  /** Maximum number of agent calls per hour. Default: 100. */
  readonly perHour?: number;
}

/**
 * Limits the agent calls per user. A window begins with its first agent call. The limit per minute
 * is checked before the limit per hour. A rejected agent call also counts in the window that
 * rejects it. The `details` of a rejection have `retryAfterMs`. Source: Arc Reactor,
 * `DefaultRateLimitStage`.
 */
export function rateLimit(options: RateLimitOptions = {}): InputGuard {
  checkOptions('rateLimit()', options, rateLimitOptions);
  const { perMinute = 10, perHour = 100 } = options;
  const add = userCounter(options);
  const windows = [
    { window: 'minute', limit: perMinute, durationMs: 60_000 },
    { window: 'hour', limit: perHour, durationMs: 3_600_000 },
  ];
  const check = async (input: readonly Msg[], run: EarlyRun) => {
    for (const { window, limit, durationMs } of windows) {
      const count = await add(run, `${rateKeyPrefix}${window}:`, 1, durationMs);
      if (count.total > limit) return limitReached(count);
    }
    return input;
  };
  return inputGuardOf('rateLimit', check, options);
}

const rateLimitOptions: OptionTable<RateLimitOptions> = {
  perMinute: optional(nonNegative),
  perHour: optional(nonNegative),
  ...counterOptions,
};
