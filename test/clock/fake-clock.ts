import { onTestFinished, vi } from 'vitest';
import { isDateFake } from './fake-date.ts';
import { checkNoRealTimers, clocks, unguarded } from './mixed-time.ts';

/** Time in real milliseconds after which `waitFor` fails. It only detects a hang. */
const hangMs = 120_000;

export interface FakeClockOptions {
  /** First time, in milliseconds since 1970. Default: the real time. */
  readonly now?: number;
}

/** A clock that only the test moves. */
export interface FakeClock {
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  /** Number of timers that have not fired. */
  pendingTimers(): number;
  /** Moves the clock. Runs each timer at its time, and lets promises settle before the next one. */
  advance(ms: number): Promise<void>;
  /** Moves the clock and runs the timers before it returns. No promise settles meanwhile. */
  advanceSync(ms: number): void;
  /** Moves the clock in steps until the promise settles, and returns its value. */
  advanceUntil<T>(promise: Promise<T>, stepMs?: number): Promise<T>;
  /** Moves the clock until no timer is left. */
  runAll(): Promise<void>;
  /**
   * Moves only the date, as if a person or a time server had set it. Timers and `performance` go on
   * as before.
   */
  jumpDate(ms: number): void;
  /**
   * Calls `check` after each turn of the event loop until it returns without an error, and returns
   * its value. The clock stands still, so only timers of 0 ms fire.
   */
  waitFor<T>(check: () => T | Promise<T>): Promise<T>;
}

/**
 * Replaces every clock until the end of the test. Call it before the code under test starts a
 * timer. It also works in `beforeEach`.
 */
export function fakeClock(options: FakeClockOptions = {}): FakeClock {
  if (vi.isFakeTimers()) throw new Error('fakeClock() works once in a test.');
  if (isDateFake()) throw new Error('fakeClock() does not work after fakeDate().');
  checkNoRealTimers();
  unguarded(vi.useFakeTimers)({ toFake: [...clocks], ...options });
  const realTimeout = AbortSignal.timeout;
  const timeouts: ReturnType<typeof setTimeout>[] = [];
  AbortSignal.timeout = (ms) => {
    const { signal, timer } = abortAfter(ms);
    timeouts.push(timer);
    return signal;
  };
  let hasEnded = false;
  onTestFinished(() => {
    hasEnded = true;
    // A test need not end these signals, because the timer of a real one keeps nothing alive.
    for (const timer of timeouts) clearTimeout(timer);
    AbortSignal.timeout = realTimeout;
    unguarded(vi.useRealTimers)();
  });
  const checkActive = (): void => {
    if (hasEnded) throw new Error('The test has ended, and its fake clock with it.');
  };
  const advance = async (ms: number): Promise<void> => {
    checkActive();
    await vi.advanceTimersByTimeAsync(ms);
  };
  return {
    now: () => Date.now(),
    pendingTimers: () => vi.getTimerCount(),
    advance,
    advanceSync: (ms) => void vi.advanceTimersByTime(ms),
    async runAll() {
      await vi.runAllTimersAsync();
    },
    jumpDate: (ms) => void unguarded(vi.setSystemTime)(Date.now() + ms),
    async advanceUntil(promise, stepMs = 10) {
      let isOpen = true;
      const end = (): void => {
        isOpen = false;
      };
      promise.then(end, end);
      while (isOpen) await advance(stepMs);
      return promise;
    },
    async waitFor(check) {
      const startedAt = vi.getRealSystemTime();
      for (;;) {
        try {
          return await check();
        } catch (error) {
          if (hasEnded || vi.getRealSystemTime() - startedAt > hangMs) throw error;
        }
        await advance(0);
      }
    },
  };
}

/** Does what `AbortSignal.timeout` does, with the clock of the test. */
function abortAfter(ms: number): {
  readonly signal: AbortSignal;
  readonly timer: ReturnType<typeof setTimeout>;
} {
  const controller = new AbortController();
  const reason = new DOMException('The operation timed out.', 'TimeoutError');
  const timer = setTimeout(() => controller.abort(reason), ms);
  return { signal: controller.signal, timer };
}
