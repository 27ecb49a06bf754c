import { onTestFinished, vi } from 'vitest';

/** A date that only the test moves. */
export interface FakeDate {
  /** Sets the date, in milliseconds since 1970. */
  set(now: number): void;
  /** Brings the real date back. The end of the test does this, too. */
  restore(): void;
}

/** Global objects outlive this module, because test files share a worker. */
const fake: unique symbol = Symbol.for('isoloop.tests.fake-date') as never;

/** Returns whether `fakeDate()` has replaced the date. */
export function isDateFake(): boolean {
  return fake in Date;
}

/**
 * Replaces `Date.now()` and `new Date()` until the end of the test, and no other clock. It is for
 * code that compares the date with stored times, and whose I/O is real, such as a Durable Object.
 *
 * Limits: timers, `performance`, `AbortSignal.timeout` and the alarms of Durable Objects keep real
 * time. So the date must not decide when they fire. Use `fakeClock()` for a test about timers.
 */
export function fakeDate(now: number): FakeDate {
  if (vi.isFakeTimers()) throw new Error('This test has a fake clock, which moves the date.');
  if (isDateFake()) throw new Error('fakeDate() works once at a time. Use set() of the first one.');
  const { Date: RealDate } = globalThis;
  let shown = now;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, values, newTarget) =>
      Reflect.construct(target, values.length === 0 ? [shown] : values, newTarget) as Date,
    apply: () => new RealDate(shown).toString(),
    get: (target, name) => (name === 'now' ? () => shown : (Reflect.get(target, name) as unknown)),
    has: (target, name) => name === fake || Reflect.has(target, name),
  });
  const restore = (): void => {
    globalThis.Date = RealDate;
  };
  onTestFinished(restore);
  return {
    set(next) {
      shown = next;
    },
    restore,
  };
}
