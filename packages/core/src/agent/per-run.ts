import { func } from '../error/options/kinds.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { misconfigured } from '../error/agent-error.ts';
import type { RunInfo } from '../model/chat-model.ts';
import type { LiveRun } from './run/live-run.ts';
import type { Run } from './seam/run.ts';
import { RunObject } from './seam/run-object.ts';

/**
 * Returns a function that returns the value of a run: the same value for each call with the `run`
 * that wrappers and hooks get. `ModelContext.run` is that object, too. The first call creates the
 * value with `begin`, which may keep its `Run`: what only a `Run` has works from `wrapSettle` on.
 * Several agents may share the function. Throws `CONFIGURATION` for a copy of `run`, and for
 * another argument of a hook.
 */
export function perRun<T>(begin: (run: Run) => T): (run: RunInfo) => T {
  checkFields('perRun()', { begin }, { begin: func });
  return valuesBy((live) => live, begin);
}

/**
 * Returns a function that returns the value of an agent: the same value in all its runs. Works as
 * `perRun()`, for what a middleware keeps as long as the agent exists.
 */
export function perAgent<T>(begin: (run: Run) => T): (run: RunInfo) => T {
  checkFields('perAgent()', { begin }, { begin: func });
  return valuesBy(({ status }) => status, begin);
}

function valuesBy<T>(keyOf: (live: LiveRun) => object, begin: (run: Run) => T) {
  const values = new WeakMap<object, { readonly value: T }>();
  return (run: RunInfo): T => {
    const live = liveRunOf(run);
    const key = keyOf(live);
    let holder = values.get(key);
    if (!holder) {
      holder = { value: begin(live.run) };
      values.set(key, holder);
    }
    return holder.value;
  };
}

/** Returns the loop's own object for a `run`. Throws `CONFIGURATION` unless the loop made `run`. */
export function liveRunOf(run: RunInfo): LiveRun {
  const live = RunObject.liveRunOf(Object(run) as object);
  if (live) return live;
  throw misconfigured(
    'Pass the `run` that the wrapper or hook got as its last argument, not a copy of it.',
  );
}
