import { isEnding, type Next } from './next.ts';
import type { LiveRun } from './run/live-run.ts';
import { act } from './step/act.ts';
import { endThrown, finish, type RunOutcome } from './step/finish.ts';
import { reason } from './step/reason.ts';
import { settle, type RunInput } from './step/settle.ts';

/** Runs one agent call: settle → reason → act → reason → … → finish. */
export async function loop(live: LiveRun, input: RunInput): Promise<RunOutcome> {
  let next: Next;
  try {
    next = await settle(live, input);
    while (!isEnding(next)) {
      await beginStep(live);
      if (next.to === 'model') next = await reason(live, next.mustAsk);
      else next = await act(live);
    }
  } catch (thrown) {
    next = await endThrown(live, thrown);
  }
  return finish(live, next);
}

/** Number of ticks of `live.clock` that a step of the loop counts for. */
const ticksOfStep = 25;

/** Lets timers run before a step. Throws if the run was aborted. */
async function beginStep({ clock, halt, log }: LiveRun): Promise<void> {
  // A wrapper may ask for step after step, without its `next`.
  halt.signal.throwIfAborted();
  // A `wrapSettle` may have stored the input itself, without its `next`.
  log.markBegun();
  const pause = clock.tick(ticksOfStep);
  if (pause) await pause;
}
