import {
  AgentError,
  misconfigured,
  checkFields,
  checkOptions,
} from '../../../error/agent-error.ts';
import type { Awaitable } from '../../../event/hook.ts';
import { parseJson } from '../../../message/json.ts';
import { maxAttempts, pause, type ContentionOptions } from '../../../memory/store/contention.ts';
import type { RunContext } from '../../../agent/middleware.ts';
import type { KeyValueStore } from '../../../memory/store/key-value-store.ts';
import type { Rejection } from '../rejection.ts';
import { inputGuardFields, type InputGuardOptions } from './guard-input.ts';

/**
 * Time window of a counter. The window begins with the first amount above 0 and lasts `ms`
 * milliseconds.
 */
export interface CounterWindow {
  readonly ms: number;
  /** Current time in milliseconds since 1970. */
  readonly now: number;
}

/** The total in a time window, and the end of the window. */
export interface Count {
  /** Total of all amounts in the window, including the amount just added. */
  readonly total: number;
  /** End of the window in milliseconds since 1970. */
  readonly endsAt: number;
}

/**
 * Store that counts for limits, such as those of `rateLimit` and `spendCap`. `add` with amount 0
 * only reads. If the store fails, `add` rejects, and the guard then rejects the agent call.
 */
export interface CounterStore {
  add(key: string, amount: number, window: CounterWindow): Awaitable<Count>;
}

/**
 * Keeps the counts of `rateLimit()` and `spendCap()` in this process. If there are more than
 * `maxKeys` counters (default 10,000), the counter with the oldest window is removed.
 */
export function memoryCounters(options: { readonly maxKeys?: number } = {}): CounterStore {
  checkOptions('memoryCounters()', options, 'maxKeys:count|?');
  const { maxKeys = 10_000 } = options;
  const counts = new Map<string, Count>();
  return {
    add(key, amount, window) {
      const before = counts.get(key);
      const count = added(before, amount, window);
      if (count.total === 0) return count;
      // A counter with a new window moves to the end, so the first counter has the oldest window.
      if (before?.endsAt !== count.endsAt) counts.delete(key);
      counts.set(key, count);
      if (counts.size > maxKeys) counts.delete(counts.keys().next().value!);
      return count;
    },
  };
}

export interface StoredCountersOptions extends ContentionOptions {
  /** Text before the keys of the counters. Default `guard:`. */
  readonly prefix?: string;
}

/**
 * Keeps the counts of `rateLimit()` and `spendCap()` in a store that several processes can share.
 * Counts are exact if the store has `compareAndSet`. Without it, counts are exact within one
 * process only. If two processes add at the same moment, one of the two amounts may be lost.
 *
 * @example
 * const store = storedCounters(new KvStore(env.KV));
 * use: [rateLimit({ store })];
 */
export function storedCounters(
  store: KeyValueStore,
  options: StoredCountersOptions = {},
): CounterStore {
  checkFields('The store of storedCounters()', store, 'get:function set:function');
  checkOptions('storedCounters()', options, 'prefix:string|? sleep,random:function|?');
  const { prefix = 'guard:' } = options;
  const busy = new Map<string, Promise<Count>>();
  const update = async (key: string, amount: number, window: CounterWindow): Promise<Count> => {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (attempt > 0) await pause(attempt, options);
      const stored = await store.get(key);
      const count = added(stored === undefined ? undefined : readCount(stored), amount, window);
      if (amount === 0) return count;
      const value = JSON.stringify(count);
      if (!store.compareAndSet) return store.set(key, value).then(() => count);
      if (await store.compareAndSet(key, stored, value)) return count;
    }
    const message = 'A counter could not be written: other writers kept changing it.';
    throw new AgentError('STORAGE_FAILED', message);
  };
  return {
    async add(name, amount, window) {
      const key = prefix + encodeURIComponent(name);
      const turn = Promise.resolve(busy.get(key))
        .catch(() => {})
        .then(() => update(key, amount, window));
      busy.set(key, turn);
      try {
        return await turn;
      } finally {
        if (busy.get(key) === turn) busy.delete(key);
      }
    },
  };
}

function readCount(stored: string): Count {
  const count: unknown = parseJson(stored);
  checkFields('A stored counter', count, 'total,endsAt:number', 'STORAGE_FAILED');
  return count as Count;
}

function added(before: Count | undefined, amount: number, { ms, now }: CounterWindow): Count {
  // A window that ends more than `ms` from now is over: the clock was set back since the window
  // began.
  const runs = before && before.endsAt > now && before.endsAt <= now + ms;
  return runs ? { ...before, total: before.total + amount } : { total: amount, endsAt: now + ms };
}

/** Whom a guard counts for, and where it keeps its counts. */
export interface CounterOptions extends InputGuardOptions {
  /**
   * Returns the key to count by. Default: the agent's `userId`. Without one, `rateLimit()` counts
   * for `anonymous`, and `spendCap()` fails.
   */
  readonly key?: (context: RunContext) => string;
  /** Store of the counts. Default: a new `memoryCounters()` for this guard. */
  readonly store?: CounterStore;
  /** Returns the current time in milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * Throws `CONFIGURATION` for invalid options. The message names the function `where`. `fields`: its
 * other options, for `checkOptions`.
 */
export function checkCounterOptions(where: string, options: CounterOptions, fields: string): void {
  const all = `${fields} key,now:function|? store ${inputGuardFields}`;
  checkOptions(where, options, all);
  if (options.store !== undefined)
    checkFields(`The store of ${where}`, options.store, 'add:function');
}

/** A user's count, and the time until its window ends. */
export interface UserCount {
  readonly total: number;
  readonly retryAfterMs: number;
}

/**
 * Adds an amount to a count of the user, in a window of `ms` milliseconds. The key of the count is
 * `prefix` and the user.
 */
export type AddCount = (
  context: RunContext,
  prefix: string,
  amount: number,
  ms: number,
) => Promise<UserCount>;

/** Returns a function that counts for the user of a run. It rejects for an invalid key or total. */
export function userCounter(options: CounterOptions): AddCount {
  const { key = userOf, store = memoryCounters(), now = Date.now } = options;
  return async (context, prefix, amount, ms) => {
    const user: unknown = key(context);
    if (typeof user !== 'string') throw misconfigured('The key of a guard must be a string.');
    const time = now();
    const count = await store.add(prefix + user, amount, { ms, now: time });
    checkFields('The result of a counter store', count, 'total:number', 'STORAGE_FAILED');
    return { total: count.total, retryAfterMs: Math.max(0, count.endsAt - time) };
  };
}

function userOf({ userId }: RunContext): string {
  return userId ?? 'anonymous';
}

/** Returns the rejection by a limit. */
export function limitReached({ retryAfterMs }: UserCount): Rejection {
  const details = Number.isFinite(retryAfterMs) ? { retryAfterMs } : {};
  return { category: 'RATE_LIMITED', details };
}
