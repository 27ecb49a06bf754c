import type { AgentResult } from '../event/agent-result.ts';
import type { CallInput } from '../event/call-input.ts';
import { toolUsesOf } from '../message/message-text.ts';
import { closeCalls } from './step/conclude.ts';
import { answer, endingOf, endStopped, finish, keepsCalls } from './step/finish.ts';
import { revise } from './step/jump.ts';
import type { Reply } from './middleware.ts';
import { isEnding, isNext, isRejection, type Next } from './next.ts';
import { readReply, releasedPart } from './step/read-reply.ts';
import { nextRequest } from './step/request.ts';
import { innerRound } from './step/round.ts';
import type { Run } from './run/run.ts';
import { append } from './run/session.ts';
import { runWrapped } from './run/wrapped-step.ts';
import { settle } from './step/settle.ts';

/** Number of ticks of `run.pace` that a step of the loop counts for. */
const ticksOfStep = 25;

/**
 * Runs one agent call: settle → reason → act → reason → … → finish. Without `input`, ends an agent
 * call that was refused, or aborted before its turn. Nothing is stored then.
 */
export async function loop(run: Run, input: CallInput | undefined): Promise<AgentResult> {
  let next: Next | undefined;
  for (;;) {
    try {
      const turn = run.pace.tick(run.now(), ticksOfStep);
      if (turn) await turn;
      if (!next && input) next = await settle(run, input);
      else if (!next) next = await endStopped(run);
      else if (isEnding(next)) return await finish(run, next);
      else {
        if (next.to === 'model') next = await reason(run, next.isAsked);
        else next = await act(run);
        if (isEnding(next) && !keepsCalls(next)) await closeCalls(run);
      }
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
  return runWrapped(run, 'wrapReply', { message, request }, innerReply);
}

/**
 * Passes a reply through the `post-reasoning` hooks and says what follows it. This is the innermost
 * step of `wrapReply`.
 */
export async function innerReply(run: Run, given: Reply): Promise<Next> {
  if (!given.request) return answer(run, given.message, { reason: given.reason });
  const { event, next } = await revise(run, 'post-reasoning', { message: given.message });
  if (next) return next;
  const { message } = event;
  if (!toolUsesOf(message).length) return { kind: 'answer', reason: 'stop', message };
  await append(run, [message]);
  return { to: 'tools' };
}

/** Runs the open tool calls and returns what follows. */
async function act(run: Run): Promise<Next> {
  try {
    return await runWrapped(run, 'wrapRound', { calls: run.openCalls }, innerRound);
  } catch (error) {
    // After a failure, such as a full store, the other tools must stop. `rescue` closes the calls,
    // then throws the failure.
    run.fail(error);
    throw run.signal.reason;
  }
}

/** Returns what follows an exception. Rethrows an exception that makes the agent call fail. */
async function rescue(run: Run, next: Next | undefined, thrown: unknown): Promise<Next> {
  if (run.waits.isAbort(thrown)) {
    const { lastReply } = run;
    const isLost = lastReply && !run.conversation.has(lastReply.id);
    return endStopped(run, isLost ? releasedPart(lastReply) : undefined);
  }
  // A rejection while tools run does not come here, because `act` makes the agent call fail with it.
  if (!isRejection(thrown) || (next && isEnding(next))) throw thrown;
  run.refuse('rejected', thrown);
  // A rejection of the input changes nothing.
  if (next) await closeCalls(run);
  return endingOf(run);
}
