import { expect, vi } from 'vitest';

type AnyFunction = (...args: never[]) => unknown;
type Guarded<F> = F & { readonly [original]?: F };

/** Test files that share a worker share its global objects, but not this module. */
const original: unique symbol = Symbol.for('isoloop.tests.original') as never;
const pending: unique symbol = Symbol.for('isoloop.tests.pending') as never;

/** Real timers that have not fired, and their delays in milliseconds. */
type Timers = Map<unknown, number>;

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
export function guardClocks(): void {
  for (const name of ['useFakeTimers', 'useRealTimers', 'setSystemTime'] as const) {
    guardMethod(vi as never, name, () => {
      throw new Error(
        `Use fakeClock() of test/fake-clock.ts, not vi.${name}(): it replaces every clock at once, until the end of the test.`,
      );
    });
  }
  guardMethod(vi as never, 'setTimerTickMode', (mode: string) => {
    if (mode === 'interval')
      throw new Error('Real time may not move a fake clock. Use advance() of fakeClock().');
  });
  guardMethod(vi as never, 'waitFor', () => refuseUnderFakeClock('vi.waitFor()'));
  guardMethod(vi as never, 'waitUntil', () => refuseUnderFakeClock('vi.waitUntil()'));
  guardMethod(expect as never, 'poll', () => refuseUnderFakeClock('expect.poll()'));
}

function refuseUnderFakeClock(caller: string): void {
  if (!vi.isFakeTimers()) return;
  throw new Error(
    `${caller} measures real time, but this test has a fake clock. Use waitFor(), advance() or advanceUntil() of fakeClock().`,
  );
}

/** Counts the real timers that tests start. */
export function watchRealTimers(): void {
  if (pendingTimers()) return;
  const timers: Timers = new Map();
  Object.assign(globalThis, { [pending]: timers });
  for (const name of ['setTimeout', 'setInterval'] as const) watchStart(name, timers);
  for (const name of ['clearTimeout', 'clearInterval'] as const) watchClear(name, timers);
}

function watchStart(name: 'setTimeout' | 'setInterval', timers: Timers): void {
  const start = globalThis[name] as (...args: unknown[]) => unknown;
  const watched = (task: unknown, ms?: unknown, ...args: unknown[]): unknown => {
    const run = (...values: unknown[]): unknown => {
      if (name === 'setTimeout') timers.delete(timer);
      return (task as (...values: unknown[]) => unknown)(...values);
    };
    // Code in a string is left to the engine.
    const timer = start(typeof task === 'function' ? run : task, ms, ...args);
    timers.set(timer, Number(ms ?? 0));
    return timer;
  };
  // Node's `util.promisify` reads a property of `setTimeout`.
  const properties = Object.getOwnPropertyDescriptors(start);
  globalThis[name] = Object.defineProperties(watched, properties) as never;
}

function watchClear(name: 'clearTimeout' | 'clearInterval', timers: Timers): void {
  const clear = globalThis[name] as (timer: unknown) => void;
  globalThis[name] = ((timer: unknown) => {
    timers.delete(timer);
    clear(timer);
  }) as never;
}

/** Forgets the timers that earlier tests have started. */
export function forgetRealTimers(): void {
  pendingTimers()?.clear();
}

/** Throws if the test has started real timers, because a fake clock would not move them. */
export function checkNoRealTimers(): void {
  const delays = [...(pendingTimers()?.values() ?? [])];
  if (delays.length === 0) return;
  throw new Error(
    `fakeClock() does not move real timers, and this test has started ${delays.length}, with ${delays.join(', ')} ms. Call fakeClock() first.`,
  );
}

function pendingTimers(): Timers | undefined {
  return (globalThis as { readonly [pending]?: Timers })[pending];
}
