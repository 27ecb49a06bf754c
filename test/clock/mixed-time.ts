import { expect, vi } from 'vitest';
import { phraseOf, thingsOfTest } from '../left-behind/things.ts';

type AnyFunction = (...args: never[]) => unknown;
type Guarded<F> = F & { readonly [original]?: F };

/**
 * Every clock that our code reads. Microtasks, messages and I/O stay real, because the engine needs
 * them. An engine ignores a clock that it lacks.
 */
export const clocks = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'Date',
  'performance',
  'requestAnimationFrame',
  'cancelAnimationFrame',
] as const;

/** Test files that share a worker share its global objects, but not this module. */
const original: unique symbol = Symbol.for('isoloop.tests.original') as never;

/** Returns the function that a guard has replaced. */
export function unguarded<F extends AnyFunction>(guarded: F): F {
  return (guarded as Guarded<F>)[original] ?? guarded;
}

/** Makes a method call `check` first. `check` throws if the test may not call the method. */
function guardMethod<Name extends string>(
  target: Record<Name, AnyFunction>,
  name: Name,
  check: (...args: never[]) => void,
): void {
  const method = unguarded(target[name]);
  const guarded = (...args: never[]): unknown => {
    check(...args);
    return method(...args);
  };
  target[name] = Object.assign(guarded, { [original]: method });
}

/** Makes each function of Vitest that mixes fake and real time throw an error that says so. */
export function forbidMixedTime(): void {
  for (const name of ['useFakeTimers', 'useRealTimers', 'setSystemTime'] as const) {
    guardMethod(vi as never, name, () => {
      throw new Error(
        `Use fakeClock() of test/clock/fake-clock.ts, not vi.${name}(): it replaces every clock at once, until the end of the test.`,
      );
    });
  }
  guardMethod(vi as never, 'setTimerTickMode', (mode: string) => {
    if (mode === 'interval')
      throw new Error('Real time may not move a fake clock. Use advance() of fakeClock().');
  });
  guardMethod(vi as never, 'spyOn', refuseClockSpy);
  guardMethod(vi as never, 'stubGlobal', (name: string) => {
    if (!clocks.includes(name as never)) return;
    throw new Error(
      `vi.stubGlobal('${name}') replaces one clock and leaves the others real. ${useInstead}`,
    );
  });
  guardMethod(vi as never, 'waitFor', () => refuseUnderFakeClock('vi.waitFor()'));
  guardMethod(vi as never, 'waitUntil', () => refuseUnderFakeClock('vi.waitUntil()'));
  guardMethod(expect as never, 'poll', () => refuseUnderFakeClock('expect.poll()'));
}

const useInstead =
  'Use fakeClock(), or pass `now` to the code under test. If its I/O is real, use fakeDate() of test/clock/fake-date.ts.';

/** A spy on a fake clock is allowed, because no real clock remains beside it. */
function refuseClockSpy(target: unknown, name: string): void {
  const what = spiedClock(target, name);
  if (what === undefined || vi.isFakeTimers()) return;
  throw new Error(`vi.spyOn(${what}) replaces one clock and leaves the others real. ${useInstead}`);
}

function spiedClock(target: unknown, name: string): string | undefined {
  if (target === Date && name === 'now') return "Date, 'now'";
  if (target === performance && name === 'now') return "performance, 'now'";
  const isGlobalClock = target === globalThis && (name === 'Date' || name === 'performance');
  return isGlobalClock ? `globalThis, '${name}'` : undefined;
}

function refuseUnderFakeClock(caller: string): void {
  if (!vi.isFakeTimers()) return;
  throw new Error(
    `${caller} measures real time, but this test has a fake clock. Use waitFor(), advance() or advanceUntil() of fakeClock().`,
  );
}

/** Throws if the test has started real timers, because a fake clock would not move them. */
export function checkNoRealTimers(): void {
  const timers = thingsOfTest('timer').map((thing) => phraseOf(thing));
  if (timers.length === 0) return;
  throw new Error(
    `fakeClock() does not move real timers, and this test has started ${timers.join(', ')}. Call fakeClock() first.`,
  );
}
