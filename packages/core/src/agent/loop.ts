import { isEnding, isNext, type Ending, type Next } from './next.ts';
import { isRejection } from '../wait/halt.ts';
import type { Run } from './run/run.ts';
import { interruptOpenCalls } from './step/close-calls.ts';
import { endingOfHalt, endStopped, finish, type RunOutcome } from './step/finish.ts';
import { readReply, releasedReply } from './step/read-reply.ts';
import { afterReply, nextRequest } from './step/reason.ts';
import { runRound } from './step/round.ts';
import { settle, type RunInput } from './step/settle.ts';

/** Number of ticks of `run.timerYield` that a step of the loop counts for. */
const ticksOfStep = 25;

/** Runs one agent call: settle → reason → act → reason → … → finish. */
export async function loop(run: Run, input: RunInput): Promise<RunOutcome> {
  let next = await settle(run, input).catch((thrown: unknown) => rescue(run, thrown, 'input'));
  while (!isEnding(next)) {
    const pause = run.timerYield.tick(run.now(), ticksOfStep);
    if (pause) await pause;
    const { to } = next;
    try {
      next = await (next.to === 'model' ? reason(run, next.mustAsk) : runRound(run));
      // A wrapper may ask for step after step, without its `next`.
      if (!isEnding(next)) run.signal.throwIfAborted();
    } catch (thrown) {
      next = await rescue(run, thrown, to);
    }
  }
  return finish(run, next);
}

/** Asks the model once and returns what follows its reply. */
async function reason(run: Run, mustAsk = false): Promise<Next> {
  if (run.stopped) return endStopped(run);
  const request = await nextRequest(run, mustAsk);
  if (isNext(request)) return request;
  const { type, message } = await readReply(run, request);
  if (type === 'incomplete') return endStopped(run, message);
  return afterReply(run, { message, request });
}

/**
 * Returns how the run ends after an exception in one of its steps. Rethrows an exception that makes
 * the agent call fail. `step`: what threw.
 */
async function rescue(
  run: Run,
  thrown: unknown,
  step: 'input' | 'model' | 'tools',
): Promise<Ending> {
  // After a failure, such as a full store, the other tools must stop. While tools run, a rejection
  // is a failure, too.
  if (step === 'tools') run.fail(thrown);
  if (step === 'tools' || run.waits.isAbort(thrown)) return endStopped(run, releasedReply(run));
  if (!isRejection(thrown)) {
    if (step === 'model') await interruptOpenCalls(run).catch(() => {});
    throw thrown;
  }
  run.haltWith(thrown);
  // A rejection of the input changes nothing.
  return step === 'input' ? { ...endingOfHalt(run), keepsCalls: true } : endStopped(run);
}
