import { isEnding, type Next } from './next.ts';
import type { LiveRun } from './run/live-run.ts';
import { endThrown, finish, type RunOutcome } from './step/finish.ts';
import { reason } from './step/reason.ts';
import { act } from './step/round.ts';
import { settle, type RunInput } from './step/settle.ts';

/** Number of ticks of `run.clock` that a step of the loop counts for. */
const ticksOfStep = 25;

/** Runs one agent call: settle → reason → act → reason → … → finish. */
export async function loop(run: LiveRun, input: RunInput): Promise<RunOutcome> {
  let next: Next;
  try {
    next = await settle(run, input);
    while (!isEnding(next)) {
      // A wrapper may ask for step after step, without its `next`.
      run.ending.signal.throwIfAborted();
      // A `wrapSettle` may have stored the input itself, without its `next`.
      run.status.openRunId = run.runId;
      const pause = run.clock.tick(ticksOfStep);
      if (pause) await pause;
      next = await (next.to === 'model' ? reason(run, next.mustAsk) : act(run));
    }
  } catch (thrown) {
    next = await endThrown(run, thrown);
  }
  return finish(run, next);
}
