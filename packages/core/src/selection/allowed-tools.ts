import type { Middleware } from '../agent/middleware.ts';
import { allowTools } from '../tool/set/tool-set.ts';

/**
 * Lets an agent call use only the tools of these names. Begins with the run, so it hides no tool
 * that middleware adds later.
 */
export function allowedTools(names: readonly string[]): Middleware {
  return {
    on: { 'run-start': (_event, run) => run.tools.set(allowTools(run.tools.current, names)) },
  };
}
