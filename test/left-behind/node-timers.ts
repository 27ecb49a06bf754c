import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { captureOrigin } from './origin.ts';
import { forget, isFirstPatch, note } from './things.ts';

/**
 * Notes the timers of `node:timers`, and the waits of `setTimeout` of `node:timers/promises`. Call
 * it after `watchTimers`, which wraps the global functions.
 */
export function watchNodeTimers(): void {
  if (!isFirstPatch(timers)) return;
  const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;
  Object.assign(timers, { setTimeout, setInterval, clearTimeout, clearInterval });
  timersPromises.setTimeout = notingWait(timersPromises.setTimeout);
  syncBuiltinESMExports();
}

function notingWait(wait: typeof timersPromises.setTimeout): typeof timersPromises.setTimeout {
  return (ms, ...rest) => {
    const phrase = `a timer (setTimeout of node:timers/promises, ${ms ?? 0} ms)`;
    const id = {};
    note(id, { kind: 'timer', phrase, origin: captureOrigin() });
    // The caller gets this promise, so that an unhandled rejection stays unhandled.
    return wait(ms, ...rest).finally(() => forget(id));
  };
}
