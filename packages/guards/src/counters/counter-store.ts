import { AgentError, type Awaitable, type KeyValueStore } from '@isoloop/core';
import {
  checkFields,
  checkOptions,
  func,
  nonNegative,
  optional,
  type OptionTable,
} from '@isoloop/core/options';
import { backOff, type ContentionOptions } from '@isoloop/core/memory';

/**
 * Time window of a counter. The window begins with the first amount above 0 and lasts `durationMs`
 * milliseconds.
 */
export interface CounterWindow {
  readonly durationMs: number;
  /** Current time in milliseconds since 1970. */
  readonly now: number;
}

/** The total in a time window, and the end of the window. */
export interface WindowTotal {
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
  add(key: string, amount: number, window: CounterWindow): Awaitable<WindowTotal>;
}

/**
 * Keeps the counts of `rateLimit()` and `spendCap()` in this process. If there are more than
 * `maxKeys` counters (default 10,000), the counter with the oldest window is removed.
 */
export function inMemoryCounters(options: { readonly maxKeys?: number } = {}): CounterStore {
  checkOptions('inMemoryCounters()', options, inMemoryCountersOptions);
  const { maxKeys = 10_000 } = options;
  const counts = new Map<string, WindowTotal>();
  return {
    add(key, amount, window) {
      const previousTotal = counts.get(key);
      const count = addTo(previousTotal, amount, window);
      if (count.total === 0) return count;
      // A counter with a new window moves to the end, so the first counter has the oldest window.
      if (previousTotal?.endsAt !== count.endsAt) counts.delete(key);
      counts.set(key, count);
      if (counts.size > maxKeys) counts.delete(counts.keys().next().value!);
      return count;
    },
  };
}

const inMemoryCountersOptions: OptionTable<{ readonly maxKeys?: number }> = {
  maxKeys: optional(nonNegative),
};

/** Number of attempts before a write gives up. The waits between them take about 45 seconds. */
const maxAttempts = 100;

/** How `storedCounters()` retries writes. */
export interface StoredCountersOptions extends ContentionOptions {}

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
  checkFields('The store of storedCounters()', store, { get: func, set: func });
  checkOptions('storedCounters()', options, storedCountersOptions);
  const pendingUpdates = new Map<string, Promise<WindowTotal>>();
  const update = async (
    key: string,
    amount: number,
    window: CounterWindow,
  ): Promise<WindowTotal> => {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (attempt > 0) await backOff(attempt, options);
      const storedText = await store.get(key);
      const stored: unknown = storedText === undefined ? undefined : JSON.parse(storedText);
      const count = addTo(stored as WindowTotal | undefined, amount, window);
      if (amount === 0) return count;
      const value = JSON.stringify(count);
      if (!store.compareAndSet) return store.set(key, value).then(() => count);
      if (await store.compareAndSet(key, storedText, value)) return count;
    }
    const message = 'A counter could not be written: other writers kept changing it.';
    throw new AgentError('STORAGE_FAILED', message);
  };
  return {
    async add(name, amount, window) {
      const key = `guard:${encodeURIComponent(name)}`;
      const pendingUpdate = Promise.resolve(pendingUpdates.get(key))
        .catch(() => {})
        .then(() => update(key, amount, window));
      pendingUpdates.set(key, pendingUpdate);
      try {
        return await pendingUpdate;
      } finally {
        if (pendingUpdates.get(key) === pendingUpdate) pendingUpdates.delete(key);
      }
    },
  };
}

const storedCountersOptions: OptionTable<StoredCountersOptions> = {
  sleep: optional(func),
  random: optional(func),
};

function addTo(
  previous: WindowTotal | undefined,
  amount: number,
  { durationMs, now }: CounterWindow,
): WindowTotal {
  // A window that ends more than `durationMs` from now is over: the clock was set back since the
  // window began.
  const isOpen = previous && previous.endsAt > now && previous.endsAt <= now + durationMs;
  return isOpen
    ? { ...previous, total: previous.total + amount }
    : { total: amount, endsAt: now + durationMs };
}
