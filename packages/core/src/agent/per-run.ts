import { func } from '../error/kinds.ts';
import { checkFields } from '../error/check-fields.ts';
import { misconfigured } from '../error/agent-error.ts';
import type { RunInfo } from '../model/chat-model.ts';
import type { Run } from './run/run.ts';
import type { RunContext } from './run-context.ts';
import type { Steps } from './steps.ts';

/**
 * Returns a function that returns the value of a run: the same value for each call with the run's
 * context. `ModelContext.run` and the `run` of a tool call are that context, too. The first call
 * creates the value with `begin`. Several agents may share the function. Throws `CONFIGURATION` for
 * a copy of the context.
 */
export function perRun<T>(
  begin: (context: RunContext, steps: Steps) => T,
): (context: RunInfo) => T {
  checkFields('perRun()', { begin }, { begin: func });
  const values = new WeakMap<RunInfo, { readonly value: T }>();
  return (context) => {
    const holder = values.get(context);
    if (holder) return holder.value;
    const run = runOf(context);
    const value = begin(run, run.steps);
    values.set(run, { value });
    return value;
  };
}

/** Returns the run of a context. Throws `CONFIGURATION` unless the loop made the context. */
export function runOf(context: RunInfo): Run {
  // A copy has the fields of the run, but not its methods.
  if ('alive' in Object(context)) return context as Run;
  throw misconfigured("Pass the run's context, not a copy. It is a hook's second argument.");
}
