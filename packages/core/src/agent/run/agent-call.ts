import { closeLog, restore } from './session.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import type { CallInput } from '../../event/call-input.ts';
import { resultOf } from './report.ts';
import { loop } from '../loop.ts';
import { endAborted } from '../step/finish.ts';
import { hookRejection } from './halt.ts';
import type { Run } from './run.ts';
import { runWrapped } from './wrapped-step.ts';

/**
 * Runs one agent call: sends `run-start`, runs the loop inside its wrappers, and sends `run-end`.
 * Sends `error` before `run-end` if the agent call fails. `input` is absent if the agent call was
 * aborted or failed before its turn. Nothing is stored then. `refusal`: error of a
 * `wrapInput` before the turn.
 */
export async function runAgentCall(
  run: Run,
  input?: CallInput,
  refusal?: AgentError,
): Promise<AgentResult> {
  run.timeout.start();
  try {
    return await tellEnd(run, await resultFor(run, input, refusal), false);
  } catch (thrown) {
    const error = AgentError.from(thrown);
    const data = error.toJSON();
    await closeLog(run, 'error').catch(() => {});
    run.moveTo('over');
    await tellLast(run, run.outbox.event('error', { error: data }), true);
    const end = { reason: 'error', error: data } as const;
    const result = await tellEnd(run, resultOf(run, end, run.report.failureMessage), true);
    if (run.callOptions.throwOnError === false) return result;
    throw error;
  } finally {
    run.timeout.stop();
  }
}

async function resultFor(
  run: Run,
  input: CallInput | undefined,
  refusal: AgentError | undefined,
): Promise<AgentResult> {
  const resumes = await resumedRun(run, input);
  run.resumes = resumes;
  await run.outbox.tell('run-start', resumes ? { resumes } : {}, {
    reject: (why) => run.refuse(hookRejection(why)),
  });
  if (refusal && !run.aborted) run.refuse(refusal);
  // Wrappers do not run if the agent call is refused, for example because the agent is busy, or
  // aborted before its turn.
  const begins = input && !('error' in run.halt) && !run.waits.abandoned;
  try {
    const result = await (begins ? runWrapped(run, 'wrapRun', input, loop) : loop(run));
    // A wrapper may have answered without `next`.
    await closeLog(run, result.reason);
    return result;
  } catch (thrown) {
    return endAborted(run, thrown);
  }
}

/** Returns the id of the run that the agent call resumes, if any. */
async function resumedRun(run: Run, input: CallInput | undefined): Promise<string | undefined> {
  if (!input?.messages.every(({ role }) => role === 'tool')) return undefined;
  const { status } = run;
  // Another process may have begun the run, so the state comes from the log. If this read fails,
  // the loop reports the failure.
  if (!run.aborted) await restore(run).catch(() => {});
  return status.suspendedRun ?? status.stoppedRun;
}

/**
 * Sends one of the last events to hooks and readers. Returns the event that readers see.
 * `isFailure`: a hook or `mapEvent` that fails must not hide the failure that the event reports.
 */
async function tellLast(run: Run, event: AgentEvent, isFailure: boolean): Promise<AgentEvent> {
  let shown = event;
  try {
    await run.hooks.notify<AgentEvent['type']>(event);
  } catch (error) {
    if (!isFailure) throw error;
  }
  try {
    shown = run.outbox.shown([event])[0]!;
  } catch (error) {
    if (!isFailure) throw error;
  }
  await run.outbox.send([shown]);
  return shown;
}

/** Sends `run-end`. Returns the result that readers see. */
async function tellEnd(run: Run, result: AgentResult, isFailure: boolean): Promise<AgentResult> {
  const shown = await tellLast(run, run.outbox.event('run-end', { result }), isFailure);
  return shown.type === 'run-end' ? shown.result : result;
}
