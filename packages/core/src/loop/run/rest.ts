import type { Run } from './run.ts';

/** Steps of the pace that a tool call counts for. */
const stepsOfCall = 10;

/** Gives timers their turn now and then, in a loop over many tool calls. */
export async function rest(run: Run): Promise<void> {
  await run.pace.step(run.setup.now(), stepsOfCall);
}
