import type { Run } from './run.ts';

/** Steps of the pace that a tool call counts for. */
const stepsOfCall = 10;

/**
 * Gives timers their turn now and then, in a loop over many tool calls. Returns a promise only if
 * the loop has to wait.
 */
export function rest(run: Run): Promise<void> | undefined {
  return run.pace.step(run.setup.now(), stepsOfCall);
}
