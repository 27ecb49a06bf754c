import { isEnding, type Next } from './next.ts';
import type { LiveRun } from './run/live-run.ts';
import { act } from './step/act.ts';
import { endThrown, finish, type RunOutcome } from './step/finish.ts';
import { reason } from './step/reason.ts';
import { settle, type RunInput } from './step/settle.ts';

/** Runs one agent call: settle → reason → act → reason → … → finish. */
export async function loop(run: LiveRun, input: RunInput): Promise<RunOutcome> {
  let next: Next;
  try {
    next = await settle(run, input);
    while (!isEnding(next)) {
      await beginStep(run);
      if (next.to === 'model') next = await reason(run, next.mustAsk);
      else next = await act(run);
    }
  } catch (thrown) {
    next = await endThrown(run, thrown);
  }
  return finish(run, next);
}

/** Number of ticks of `run.clock` that a step of the loop counts for. */
const ticksOfStep = 25;

/** Lets timers run before a step. Throws if the run was aborted. */
async function beginStep({
  clock,
  ending,
  log,
}: Pick<LiveRun, 'clock' | 'ending' | 'log'>): Promise<void> {
  // A wrapper may ask for step after step, without its `next`.
  ending.signal.throwIfAborted();
  // A `wrapSettle` may have stored the input itself, without its `next`.
  log.markBegun();
  const pause = clock.tick(ticksOfStep);
  if (pause) await pause;
}
