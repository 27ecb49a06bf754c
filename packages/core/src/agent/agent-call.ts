import { AgentError, errorData, type AgentErrorData } from '../error/agent-error.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { ParsedInput } from '../event/agent-input.ts';
import { textOf } from '../message/msg.ts';
import { omitUndefined } from '../message/json.ts';
import { incompleteReason } from '../model/finish-reason.ts';
import { loop } from './loop.ts';
import { endStopped, endThrown, finish, type RunOutcome } from './step/finish.ts';
import { msSince } from '../wait/monotonic.ts';
import type { RunInput } from './step/settle.ts';
import type { LiveRun } from './run/live-run.ts';
import type { RunSetup } from './run/run-setup.ts';
import type { RunTotals } from './run/run-totals.ts';
import type { StepParts } from './run/step-parts.ts';

/** The parts of a run that its result tells of. */
interface ResultParts extends StepParts {
  readonly setup: RunSetup;
  readonly totals: RunTotals;
}

/**
 * Runs one agent call: sends `run-start`, runs the loop inside its wrappers, and sends `run-end`.
 * Sends `error` before `run-end` if the agent call fails. Without `input`, the call was refused:
 * the run sends its events, and stores nothing.
 */
export async function runAgentCall(live: LiveRun, input?: RunInput): Promise<AgentResult> {
  live.clock.timeout.resume();
  try {
    return await sendEnd(live, await runToResult(live, input), false);
  } catch (thrown) {
    const failure = live.waits.failureOf(thrown);
    const error = failure.toJSON();
    await live.log.writeEnd('error').catch(() => {});
    live.halt.enterStage('over');
    const shown = await live.outbox.tellLast(live.outbox.event('error', { error }), true);
    const result = resultOf(live, { reason: 'error', error, message: live.totals.failureMessage });
    const endResult = await sendEnd(live, result, true);
    if (live.callOptions.throwOnError === false) return endResult;
    throw failureAsShown(failure, error, shown);
  }
}

/**
 * Returns the error with which the agent call rejects: the failure, as `mapEvent` changed it for
 * the readers. The failure is then its cause, for the program's own log.
 */
function failureAsShown(failure: AgentError, error: AgentErrorData, shown: AgentEvent): AgentError {
  if (shown.type !== 'error' || shown.error === error) return failure;
  const { code, message, retryable, details } = shown.error;
  return new AgentError(code, message, { retryable, details, cause: failure });
}

/** Runs the loop inside `wrapRun`. Whoever ends the run, the log then has its end. */
async function runToResult(live: LiveRun, input?: RunInput): Promise<AgentResult> {
  if (input) {
    live.status.runs += 1;
    live.resumes = await resumedRun(live, input.sent);
  }
  // Each wrapper gets the result of an aborted run from its `next`.
  const recover = (thrown: unknown): Promise<AgentResult> => endEarly(live, thrown);
  try {
    await live.outbox.emit('run-start', omitUndefined({ resumes: live.resumes }));
  } catch (thrown) {
    return recover(thrown);
  }
  // A hook may have rejected the agent call, or may hang after an abort.
  const isRefused = !input || 'error' in live.halt.cause || live.waits.abandoned;
  if (isRefused) {
    if (input && live.halt.cause.kind === 'rejected') await live.log.tryRestore();
    return endWith(live, await finish(live, await endStopped(live)));
  }
  // If a wrapper changes the input, `wrapInput` has to see the change.
  const inner = async (sent: ParsedInput): Promise<AgentResult> =>
    endWith(live, await loop(live, sent === input.sent ? input : { sent }));
  const result = await live.wrappers.run('wrapRun', input.sent, inner, recover);
  // A wrapper may have answered without `next`, or may have failed the run after it.
  await live.log.writeEnd(result.reason);
  return result;
}

/** Returns the id of the run that the agent call resumes, if any. */
async function resumedRun(
  { setup, halt, log }: ResultParts,
  input: ParsedInput,
): Promise<string | undefined> {
  if (!input.messages.every(({ role }) => role === 'tool')) return undefined;
  const { status } = setup;
  // Another process may have begun the run, so the state comes from the log.
  if (!halt.aborted) await log.tryRestore();
  return status.openRunId ?? status.stoppedRunId;
}

/** Writes the end of the run to the log, and returns the result. */
async function endWith(live: ResultParts, end: RunOutcome): Promise<AgentResult> {
  await live.log.writeEnd(end.reason);
  return resultOf(live, end);
}

/**
 * Ends a run that was aborted or stopped while a wrapper of it worked, or a hook at `run-start`.
 * Leaves out the answer, because the answer has not passed all wrappers. Rejects with the run's
 * failure, if there is one. Rejects with `thrown` if it comes from neither.
 */
async function endEarly(live: ResultParts, thrown: unknown): Promise<AgentResult> {
  const { halt } = live;
  if (halt.isStop(thrown)) {
    if (halt.stage !== 'running') return endWith(live, { reason: halt.stopped! });
    return endWith(live, await finish(live, await endThrown(live, thrown)));
  }
  if (!halt.isAbort(thrown)) throw thrown;
  halt.enterStage('aborting');
  if (halt.failure) throw halt.failure;
  return endWith(live, { reason: 'aborted' });
}

function resultOf(live: ResultParts, end: RunOutcome): AgentResult {
  const { message = live.author.createMessage('assistant', []) } = end;
  const { reason, output, error, stoppedAt } = end;
  const { usage, warnings, toolsUsed, iteration } = live.totals;
  return {
    text: textOf(message),
    message,
    ...omitUndefined({
      reason,
      incomplete: incompleteReason(message),
      output,
      error: error && errorData(error),
      stoppedAt,
      warnings: warnings[0] && [...warnings],
    }),
    usage,
    toolsUsed: [...toolsUsed],
    durationMs: msSince(live.clock.startedAt, live.clock.monotonicNow),
    iterations: iteration,
    pending: live.calls.pending,
    sessionVersion: live.setup.log?.sessionVersion ?? 0,
  } as AgentResult;
}

/** Sends `run-end`. Returns the result that readers see. */
async function sendEnd(
  live: LiveRun,
  result: AgentResult,
  isFailure: boolean,
): Promise<AgentResult> {
  const endEvent = await live.outbox.tellLast(live.outbox.event('run-end', { result }), isFailure);
  keepEnd(live, result);
  return endEvent.type === 'run-end' ? endEvent.result : result;
}

/** Keeps how a run ended, for the next agent call. */
function keepEnd({ info, status, log }: LiveRun, { reason }: AgentResult): void {
  const { conversation } = log;
  // A call that was refused or aborted before it began has not read the log.
  if (!conversation.messages[0]) return;
  const isStopped = reason === 'interrupted' || reason === 'aborted';
  const isOpen = reason === 'suspended' || reason === 'error' || conversation.openToolUses().length;
  status.interrupted = reason === 'interrupted';
  status.stoppedRunId = isStopped ? info.runId : undefined;
  if (!isOpen) status.openRunId = undefined;
}
