import { isEnding, isNext, type Next } from './next.ts';
import { isRejection } from '../wait/halt.ts';
import type { Run } from './run/run.ts';
import { endingOf, endStopped, finish, type RunEnd } from './step/finish.ts';
import { readReply, releasedPart } from './step/read-reply.ts';
import { afterReply, nextRequest } from './step/reason.ts';
import { runRound } from './step/round.ts';
import { settle, type RunInput } from './step/settle.ts';

/** Number of ticks of `run.timerYield` that a step of the loop counts for. */
const ticksOfStep = 25;

/** Runs one agent call: settle → reason → act → reason → … → finish. */
export async function loop(run: Run, given: RunInput): Promise<RunEnd> {
  // A rejection of the input changes nothing, so open tool calls stay open.
  let next = await settle(run, given).catch((thrown: unknown) => rescue(run, thrown, endingOf));
  while (!isEnding(next)) {
    const pause = run.timerYield.tick(run.now(), ticksOfStep);
    if (pause) await pause;
    try {
      next = await (next.to === 'model' ? reason(run, next.mustAnswer) : act(run));
    } catch (thrown) {
      next = await rescue(run, thrown, endStopped);
    }
  }
  return finish(run, next);
}

/** Asks the model once and returns what follows its reply. */
async function reason(run: Run, mustAnswer = false): Promise<Next> {
  if (run.stopped) return endStopped(run);
  const request = await nextRequest(run, mustAnswer);
  if (isNext(request)) return request;
  const { type, message } = await readReply(run, request);
  if (type === 'incomplete') return endStopped(run, message);
  return afterReply(run, { message, request });
}

/** Runs the open tool calls and returns what follows. */
async function act(run: Run): Promise<Next> {
  try {
    const next = await runRound(run);
    // A wrapper may ask for round after round, without `next`.
    if (!isEnding(next)) run.signal.throwIfAborted();
    return next;
  } catch (error) {
    // After a failure, such as a full store, the other tools must stop. `rescue` closes the calls,
    // then throws the failure. A rejection is such a failure while tools run.
    run.fail(error);
    throw run.signal.reason;
  }
}

/** Ends a run that a guard or a hook rejected. */
type EndRejected = typeof endingOf | typeof endStopped;

/**
 * Returns how the run ends after an exception. Rethrows an exception that makes the agent call fail.
 */
async function rescue(run: Run, thrown: unknown, end: EndRejected): Promise<Next> {
  if (run.waits.isAbort(thrown)) return endStopped(run, releasedPart(run));
  if (!isRejection(thrown)) throw thrown;
  run.haltWith(thrown);
  return end(run);
}
