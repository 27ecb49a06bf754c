import { vi } from 'vitest';
import { captureOrigin } from './origin.ts';
import { currentScope, forget, isFirstPatch, note, registry, type Thing } from './things.ts';

/** Notes all timers that are set through the global functions, also those of a fake clock. */
export function watchTimers(): void {
  wrapTimers('');
  if (!isFirstPatch(vi)) return;
  const { useFakeTimers, useRealTimers, clearAllTimers } = vi;
  const fakes = new Map<unknown, Thing>();
  vi.useFakeTimers = (config) => {
    const result = useFakeTimers(config);
    wrapTimers(' of a fake clock', (id, thing) => fakes.set(id, thing));
    return result;
  };
  vi.useRealTimers = () => {
    // A real clock never calls the fake timers that still wait.
    for (const thing of fakes.values()) registry.stuck.add(thing);
    fakes.clear();
    return useRealTimers();
  };
  vi.clearAllTimers = () => {
    for (const id of fakes.keys()) forget(id);
    fakes.clear();
    return clearAllTimers();
  };
}

type Callback = (...values: unknown[]) => void;
type SetTimer = (callback: Callback | string, ms?: number, ...values: unknown[]) => unknown;
type Timers = Record<string, SetTimer & ((id: unknown) => void)>;

function wrapTimers(clock: string, onNote?: (id: unknown, thing: Thing) => void): void {
  const timers = globalThis as unknown as Timers;
  for (const name of ['setTimeout', 'setInterval']) {
    const set = timers[name]!;
    // A fake clock may replace only some of the functions.
    if (!isFirstPatch(set)) continue;
    timers[name] = Object.defineProperties(
      noting(set, {
        once: name === 'setTimeout',
        phrase: (ms) => `a timer${clock} (${name}, ${ms ?? 0} ms)`,
        onNote,
      }),
      withoutName(set),
    ) as Timers[string];
    isFirstPatch(timers[name]);
  }
  for (const name of ['clearTimeout', 'clearInterval']) {
    const clear = timers[name]!;
    if (!isFirstPatch(clear)) continue;
    const forgetting = (id: unknown): void => {
      forget(id);
      clear(id);
    };
    timers[name] = Object.defineProperties(forgetting, withoutName(clear)) as Timers[string];
    isFirstPatch(timers[name]);
  }
}

/** Properties such as the one that `util.promisify` of Node reads. */
function withoutName(target: object): PropertyDescriptorMap {
  const { prototype: _, ...descriptors } = Object.getOwnPropertyDescriptors(target) as Record<
    string,
    PropertyDescriptor
  >;
  return descriptors;
}

interface Noting {
  readonly once: boolean;
  readonly phrase: (ms: number | undefined) => string;
  readonly onNote: ((id: unknown, thing: Thing) => void) | undefined;
}

function noting(set: SetTimer, { once, phrase, onNote }: Noting): SetTimer {
  return (callback, ms, ...values) => {
    if (typeof callback !== 'function' || !currentScope()) return set(callback, ms, ...values);
    const id: unknown = set(
      function call(this: unknown, ...given: unknown[]): void {
        if (once) forget(id);
        callback.apply(this, given);
      },
      ms,
      ...values,
    );
    const thing = note(id, { kind: 'timer', phrase: () => phrase(ms), origin: captureOrigin() });
    if (thing) onNote?.(id, thing);
    return id;
  };
}
