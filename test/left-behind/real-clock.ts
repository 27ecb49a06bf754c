const key = Symbol.for('isoloop.tests.real-clock');

interface RealClock {
  readonly setTimeout: typeof globalThis.setTimeout;
  readonly setImmediate: typeof globalThis.setImmediate;
  readonly pause: () => Promise<void>;
  readonly now: () => number;
}

/**
 * The functions of the engine, also while a test uses a fake clock and before the check wraps them.
 */
export const realClock: RealClock = ((globalThis as { [key]?: RealClock })[key] ??= savedClock());

function savedClock(): RealClock {
  const { setTimeout, setImmediate, performance } = globalThis;
  return {
    setTimeout,
    setImmediate,
    pause: () => new Promise((resolve) => setTimeout(resolve, 5)),
    now: performance.now.bind(performance),
  };
}
