import {
  checkFields,
  func,
  number,
  optional,
  withMethod,
  type OptionTable,
  checkId,
} from '@isoloop/core/options';
import { inputGuardOptions, type InputGuardOptions } from '../input/input-guard.ts';
import type { Rejection } from '../rejection.ts';
import { inMemoryCounters, type CounterStore } from './counter-store.ts';
import type { RunView } from '@isoloop/core';

/** Whom a guard counts for, and where it keeps its counts. */
export interface CounterOptions extends InputGuardOptions {
  /**
   * Returns the key to count by. Default: the agent's `userId`. Without one, `rateLimit()` counts
   * for `anonymous`, and `spendCap()` fails.
   */
  readonly key?: (run: RunView) => string;
  /** Store of the counts. Default: a new `inMemoryCounters()` for this guard. */
  readonly store?: CounterStore;
  /** Returns the current time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

export const counterOptions: OptionTable<CounterOptions> = {
  key: optional(func),
  now: optional(func),
  store: optional(withMethod('add')),
  ...inputGuardOptions,
};

/** A user's count, and the time until its window ends. */
interface UserCount {
  readonly total: number;
  readonly retryAfterMs: number;
}

/**
 * Returns a function that adds an amount to a count of the user, in a window of `durationMs`
 * milliseconds. The key of the count is `prefix` and the user. Rejects for an invalid key or total.
 */
export function userCounter(options: CounterOptions) {
  const { store = inMemoryCounters(), now = Date.now } = options;
  const { key = ({ userId }: RunView): string => userId ?? 'anonymous' } = options;
  return async (
    run: RunView,
    prefix: string,
    amount: number,
    durationMs: number,
  ): Promise<UserCount> => {
    const user: unknown = key(run);
    checkId(user, 'key of a guard', 'CONFIGURATION');
    const time = now();
    const count = await store.add(prefix + user, amount, { durationMs, now: time });
    checkFields('The result of a counter store', count, { total: number }, 'STORAGE_FAILED');
    return { total: count.total, retryAfterMs: Math.max(0, count.endsAt - time) };
  };
}

export function limitReached({ retryAfterMs }: UserCount): Rejection {
  const details = Number.isFinite(retryAfterMs) ? { retryAfterMs } : {};
  return { category: 'RATE_LIMITED', details };
}
