import { keyPrefix } from '../../../memory/storage-keys.ts';
import { AgentError } from '../../../error/agent-error.ts';
import { checkFields, checkOptions } from '../../../error/check-fields.ts';
import type { StageRejection } from '../rejection.ts';
import { memoryCounters, type Count, type CounterStore } from './counter-store.ts';
import type { GuardContext, InputStage } from './input-stage.ts';

export interface CounterOptions {
  /** Returns the key to count by. Default: the agent's `userId`, or `anonymous`. */
  readonly key?: (context: GuardContext) => string;
  /** Store of the counts. Default: a new `memoryCounters()` for this stage. */
  readonly store?: CounterStore;
  /** Returns the current time in milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

export interface RateLimitOptions extends CounterOptions {
  /** Maximum number of agent calls per minute. Default 10. */
  readonly perMinute?: number;
  /** Maximum number of agent calls per hour. Default 100. */
  readonly perHour?: number;
}

/**
 * Limits the agent calls per user. A window begins with its first agent call. The limit per minute
 * is checked before the limit per hour. A rejected agent call also counts in the window that
 * rejects it. The `details` of a rejection have `retryAfterMs` (Arc Reactor:
 * `DefaultRateLimitStage`).
 */
export function rateLimit(options: RateLimitOptions = {}): InputStage {
  checkCounterOptions('rateLimit()', options, 'perMinute:count|? perHour:count|?');
  const {
    perMinute = 10,
    perHour = 100,
    key = userOf,
    store = memoryCounters(),
    now = Date.now,
  } = options;
  const windows = [
    { name: 'minute', limit: perMinute, ms: 60_000 },
    { name: 'hour', limit: perHour, ms: 3_600_000 },
  ];
  return {
    name: 'rateLimit',
    async check(input, context) {
      const user = readKey(key(context));
      for (const { name, limit, ms } of windows) {
        const time = now();
        const count = await store.add(`${keyPrefix.rate}${name}:${user}`, 1, { ms, now: time });
        if (!(readTotal(count) <= limit)) return limitReached(count, time);
      }
      return input;
    },
  };
}

/**
 * Throws `CONFIGURATION` for invalid options. The message names the function `where`. `fields`: its
 * other options, for `checkOptions`.
 */
export function checkCounterOptions(where: string, options: CounterOptions, fields: string): void {
  checkOptions('CONFIGURATION', where, options, `${fields} key,now:function|? store`);
  if (options.store !== undefined)
    checkFields('CONFIGURATION', `The store of ${where}`, options.store, 'add:function');
}

export function userOf({ userId }: GuardContext): string {
  return userId ?? 'anonymous';
}

export function readKey(key: unknown): string {
  if (typeof key === 'string') return key;
  throw new AgentError('CONFIGURATION', 'The key of a guard must be a string.');
}

export function readTotal({ total }: Count): number {
  if (typeof total === 'number') return total;
  throw new AgentError('STORAGE_FAILED', 'A counter store returned no total.');
}

export function limitReached({ endsAt }: Count, now: number): StageRejection {
  const retryAfterMs = Math.max(0, endsAt - now);
  return {
    category: 'RATE_LIMITED',
    details: Number.isFinite(retryAfterMs) ? { retryAfterMs } : {},
  };
}
