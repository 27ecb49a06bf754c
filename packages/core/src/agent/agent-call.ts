import { AgentError } from '../error/agent-error.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { ParsedInput } from '../event/agent-input.ts';
import { textOf } from '../message/msg.ts';
import { omitUndefined } from '../message/json.ts';
import { incompleteReason } from '../model/finish-reason.ts';
import { loop } from './loop.ts';
import { endStopped, finish, type RunOutcome } from './step/finish.ts';
import { msSince } from '../wait/monotonic.ts';
import { runWrapped } from './run/wrapped-step.ts';
import type { RunInput } from './step/settle.ts';
import type { LiveRun } from './run/live-run.ts';

/** The parts of a run that its result tells of. */
type ResultParts = Pick<LiveRun, 'author' | 'calls' | 'clock' | 'setup' | 'totals'>;

/**
 * Runs one agent call: sends `run-start`, runs the loop inside its wrappers, and sends `run-end`.
 * Sends `error` before `run-end` if the agent call fails. Without `input`, the call was refused:
 * the run sends its events, and stores nothing.
 */
export async function runAgentCall(run: LiveRun, input?: RunInput): Promise<AgentResult> {
  run.clock.timeout.resume();
  try {
    return await sendEnd(run, await runToResult(run, input), false);
  } catch (thrown) {
    const failure = AgentError.from(thrown);
    const error = failure.toJSON();
    await run.log.writeEnd('error').catch(() => {});
    run.ending.enterStage('over');
    await run.outbox.tellLast(run.outbox.event('error', { error }), true);
    const result = resultOf(run, { reason: 'error', error, message: run.totals.failureMessage });
    const endResult = await sendEnd(run, result, true);
    if (run.callOptions.throwOnError === false) return endResult;
    throw failure;
  }
}

/** Runs the loop inside `wrapRun`. Whoever ends the run, the log then has its end. */
async function runToResult(run: LiveRun, input?: RunInput): Promise<AgentResult> {
  if (input) {
    run.status.runs += 1;
    run.resumes = await resumedRun(run, input.sent);
  }
  await run.outbox.emit('run-start', omitUndefined({ resumes: run.resumes }));
  // A hook may have rejected the agent call, or may hang after an abort.
  const isRefused = !input || 'error' in run.ending.halt || run.waits.abandoned;
  if (isRefused) return endWith(run, await finish(run, await endStopped(run)));
  // Each wrapper gets the result of an aborted run from its `next`.
  const recover = (thrown: unknown): Promise<AgentResult> => endAborted(run, thrown);
  // If a wrapper changes the input, `wrapInput` has to see the change.
  const inner = async (sent: ParsedInput): Promise<AgentResult> =>
    endWith(run, await loop(run, sent === input.sent ? input : { sent }));
  const result = await runWrapped(run, 'wrapRun', input.sent, inner, recover);
  // A wrapper may have answered without `next`, or may have failed the run after it.
  await run.log.writeEnd(result.reason);
  return result;
}

/** Returns the id of the run that the agent call resumes, if any. */
async function resumedRun(
  run: Pick<LiveRun, 'ending' | 'log' | 'status'>,
  input: ParsedInput,
): Promise<string | undefined> {
  if (!input.messages.every(({ role }) => role === 'tool')) return undefined;
  const { status } = run;
  // Another process may have begun the run, so the state comes from the log. If this read fails,
  // the loop reports the failure.
  if (!run.ending.aborted) await run.log.restore().catch(() => {});
  return status.openRunId ?? status.stoppedRunId;
}

/** Writes the end of the run to the log, and returns the result. */
async function endWith(
  run: ResultParts & Pick<LiveRun, 'log'>,
  end: RunOutcome,
): Promise<AgentResult> {
  await run.log.writeEnd(end.reason);
  return resultOf(run, end);
}

/**
 * Ends a run that was aborted while a wrapper hung. Leaves out the answer, because the answer has
 * not passed all wrappers. Rejects with the run's failure, if there is one. Rejects with `thrown`
 * if it does not come from the abort.
 */
async function endAborted(
  run: ResultParts & Pick<LiveRun, 'ending' | 'log' | 'waits'>,
  thrown: unknown,
): Promise<AgentResult> {
  if (!run.waits.isAbort(thrown)) throw thrown;
  run.ending.enterStage('aborting');
  if (run.ending.failure) throw run.ending.failure;
  return endWith(run, { reason: 'aborted' });
}

function resultOf(run: ResultParts, end: RunOutcome): AgentResult {
  const { message = run.author.createMessage('assistant', []) } = end;
  const { reason, output, error, stoppedAt } = end;
  const { usage, warnings, toolsUsed, iteration } = run.totals;
  return {
    text: textOf(message),
    message,
    ...omitUndefined({
      reason,
      incomplete: incompleteReason(message),
      output,
      error,
      stoppedAt,
      warnings: warnings[0] && [...warnings],
    }),
    usage,
    toolsUsed: [...toolsUsed],
    durationMs: msSince(run.clock.startedAt, run.clock.monotonicNow),
    iterations: iteration,
    pending: run.calls.pending,
    sessionVersion: run.setup.log?.sessionVersion ?? 0,
  } as AgentResult;
}

/** Sends `run-end`. Returns the result that readers see. */
async function sendEnd(
  run: Pick<LiveRun, 'log' | 'outbox' | 'runId' | 'status'>,
  result: AgentResult,
  isFailure: boolean,
): Promise<AgentResult> {
  const endEvent = await run.outbox.tellLast(run.outbox.event('run-end', { result }), isFailure);
  keepEnd(run, result);
  return endEvent.type === 'run-end' ? endEvent.result : result;
}

/** Keeps how a run ended, for the next agent call. */
function keepEnd(
  { runId, status, log }: Pick<LiveRun, 'log' | 'runId' | 'status'>,
  { reason }: AgentResult,
): void {
  const { conversation } = log;
  // A call that was refused or aborted before it began has not read the log.
  if (!conversation.messages[0]) return;
  const isStopped = reason === 'interrupted' || reason === 'aborted';
  const isOpen = reason === 'suspended' || reason === 'error' || conversation.openToolUses().length;
  status.interrupted = reason === 'interrupted';
  status.stoppedRunId = isStopped ? runId : undefined;
  if (!isOpen) status.openRunId = undefined;
}
