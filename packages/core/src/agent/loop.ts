import type { AgentResult } from '../event/agent-result.ts';
import type { CallInput } from '../event/call-input.ts';
import { closeCalls } from './step/conclude.ts';
import { isEnding, isNext, type Next } from './next.ts';
import { isRejection } from './run/halt.ts';
import type { Run } from './run/run.ts';
import { endingOf, endStopped, finish } from './step/finish.ts';
import { readReply, releasedPart } from './step/read-reply.ts';
import { afterReply } from './step/reply.ts';
import { nextRequest } from './step/request.ts';
import { runRound } from './step/round.ts';
import { settle } from './step/settle.ts';

/** Number of ticks of `run.pace` that a step of the loop counts for. */
const ticksOfStep = 25;

/**
 * Runs one agent call: settle → reason → act → reason → … → finish. Without `input`, ends an agent
 * call that was refused, or aborted before its turn. Nothing is stored then.
 */
export async function loop(run: Run, input?: CallInput): Promise<AgentResult> {
  let next: Next | undefined;
  for (;;) {
    try {
      const pause = run.pace.tick(run.now(), ticksOfStep);
      if (pause) await pause;
      if (next && isEnding(next)) return await finish(run, next);
      if (next) next = await (next.to === 'model' ? reason(run, next.isAsked) : act(run));
      else next = await (input ? settle(run, input) : endStopped(run));
    } catch (thrown) {
      next = await rescue(run, next, thrown);
    }
  }
}

/** Asks the model once and returns what follows its reply. */
async function reason(run: Run, isAsked = false): Promise<Next> {
  if (run.stopped) return endStopped(run);
  const request = await nextRequest(run, isAsked);
  if (isNext(request)) return request;
  const { type, message } = await readReply(run, request);
  if (type === 'incomplete') return endStopped(run, message);
  return afterReply(run, { message, request });
}

/** Runs the open tool calls and returns what follows. */
async function act(run: Run): Promise<Next> {
  try {
    return await runRound(run);
  } catch (error) {
    // After a failure, such as a full store, the other tools must stop. `rescue` closes the calls,
    // then throws the failure.
    run.fail(error);
    throw run.signal.reason;
  }
}

/** Returns what follows an exception. Rethrows an exception that makes the agent call fail. */
async function rescue(run: Run, next: Next | undefined, thrown: unknown): Promise<Next> {
  const ending = next && isEnding(next) ? next : undefined;
  if (run.waits.isAbort(thrown)) {
    const reply = ending ? ending.message : run.lastReply;
    const isLost = reply && ending?.reason !== 'rejected' && !run.conversation.has(reply.id);
    return endStopped(run, isLost ? releasedPart(reply) : undefined);
  }
  // A rejection while tools run does not come here, because `act` makes the agent call fail with it.
  if (!isRejection(thrown) || ending) throw thrown;
  run.refuse(thrown);
  // A rejection of the input changes nothing.
  if (next) await closeCalls(run);
  return endingOf(run);
}
