import type { EventOf } from '../../event/agent-event.ts';
import type { WriteOptions } from '../../memory/memory.ts';
import { toolUsesOf, type Msg, type ToolResult, type ToolUse } from '../../message/msg.ts';
import {
  hasResult,
  isSuspension,
  errorResult,
  interruptedResult,
  type ToolOutcome,
} from '../../tool/tool-call.ts';
import type { Next } from '../next.ts';
import type { LiveRun } from '../run/live-run.ts';
import type { Halting } from '../../wait/halt.ts';

/** The parts of a run with which a tool call ends. */
export type CloseParts = Pick<
  LiveRun,
  'author' | 'calls' | 'clock' | 'ending' | 'log' | 'outbox' | 'waits'
>;

/** Number of ticks of `run.clock` that a tool call counts for. */
const ticksOfCall = 10;

/** Ends or suspends a tool call, or leaves it open. */
export async function recordOutcome(
  run: CloseParts,
  toolUse: ToolUse,
  outcome: ToolOutcome,
  options?: WriteOptions,
): Promise<void> {
  if (isSuspension(outcome)) run.calls.suspend(toolUse, outcome);
  else if (hasResult(outcome)) await closeCall(run, toolUse, outcome, options);
}

/**
 * Ends an open tool call: passes its result through the `post-acting` hooks, and appends it to the
 * log. `jumpOfRound` later carries out what the hooks ask for. Resolves at once if the call gets
 * another result now. A hook of that result may wait for this function, and must not wait for
 * itself.
 */
export async function closeCall(
  run: CloseParts,
  toolUse: ToolUse,
  result: ToolResult,
  options?: WriteOptions,
): Promise<void> {
  const { calls } = run;
  // Another middleware may have closed it.
  if (!calls.isOpen(toolUse) || calls.closingOf(toolUse)) return;
  // Set before the first hook runs, which may be at once.
  const end = calls.beginClosing(toolUse);
  try {
    await giveResult(run, toolUse, result, options);
  } finally {
    end();
  }
}

async function giveResult(
  run: CloseParts,
  toolUse: ToolUse,
  result: ToolResult,
  options?: WriteOptions,
): Promise<void> {
  const pause = run.clock.tick(ticksOfCall);
  if (pause) await pause;
  const event = await askAboutResult(run, { toolUse, result });
  // A hook may have removed the call from the conversation.
  if (run.calls.isOpen(toolUse))
    await appendResult(run, { ...event.result, toolUseId: toolUse.id }, options);
  await run.outbox.tellReaders([event]);
}

async function appendResult(
  run: CloseParts,
  result: ToolResult,
  options?: WriteOptions,
): Promise<void> {
  const message = run.author.createMessage('tool', [result]);
  try {
    await run.log.append([message], options);
  } catch (error) {
    if (!run.waits.isAbort(error)) await run.log.reload();
    throw error;
  }
}

/** Says that the tools come next. Each call beyond `limits.replyCalls` gets an error result. */
export async function goToTools(
  run: CloseParts & Pick<LiveRun, 'options'>,
  reply?: Msg,
): Promise<Next> {
  const { replyCalls } = run.options.limits;
  const problem = `A reply may have ${replyCalls} tool calls. Make this call again later.`;
  for (const toolUse of reply ? toolUsesOf(reply).slice(replyCalls) : [])
    await closeCall(run, toolUse, errorResult(toolUse, problem), { later: true });
  return { to: 'tools' };
}

/**
 * Passes a result through the `post-acting` hooks. If they fail, the agent call fails, and the
 * result becomes an error, because a hook might have removed something from it. The hooks then only
 * observe the error.
 */
async function askAboutResult(
  run: CloseParts,
  fields: { readonly toolUse: ToolUse; readonly result: ToolResult },
): Promise<EventOf<'post-acting'>> {
  // What hooks ask for at an interrupted call is dropped.
  const request = fields.result.state === 'interrupted' ? {} : run.calls.roundJump;
  try {
    return await run.outbox.askHooks('post-acting', fields, request);
  } catch (error) {
    if (!run.ending.failure && run.waits.isAbort(error)) throw error;
    const { toolUse, result: toolsResult } = fields;
    const failed = run.waits.isStop(error)
      ? interruptedResult(toolUse, run.calls.stateOf(toolUse))
      : failCall(run.ending, toolUse, error, 'A hook failed after this call ended.');
    const result = toolsResult.state === 'interrupted' ? toolsResult : failed;
    const event = run.outbox.event('post-acting', { toolUse, result });
    try {
      await run.outbox.tellHooks(event);
    } catch {
      // The call fails with the first error.
    }
    return event;
  }
}

/**
 * Makes the agent call fail because of a tool call. Returns the result of the tool call for the
 * model. `message` must not quote an exception that did not come from the tool.
 */
export function failCall(
  ending: Halting,
  toolUse: ToolUse,
  error: unknown,
  message: string,
): ToolResult {
  ending.fail(error);
  return errorResult(toolUse, message);
}

/**
 * Gives each open tool call an `interrupted` result, or the one that a person decided. Then sorts
 * the conversation as models require: each result follows its tool call. If the agent call fails,
 * leaves pending tool calls open, so that a person can still decide about them. After a timeout,
 * closes them, too. Rejects with the first failure, after it has tried to close all tool calls.
 *
 * Each model request calls this function, and the end of a run, also by a failure. An ending with
 * `keepsCalls` leaves the calls open. So does a run that ends before `settle` has begun it in the
 * log: it changes nothing there.
 */
export async function interruptOpenCalls(run: CloseParts): Promise<void> {
  if (!run.log.hasBegun) return;
  const keepsPending = run.ending.failure && run.ending.failure.code !== 'CALL_TIMEOUT';
  let failure: unknown;
  for (const { toolUse, state, isNoted, result } of run.calls.open) {
    // Code of middleware may close the call now, without waiting for it.
    await run.calls.closingOf(toolUse);
    if (!run.calls.isOpen(toolUse)) continue;
    if (keepsPending && state.pending) continue;
    const lateResult = interruptedResult(toolUse, isNoted ? state : undefined);
    try {
      await closeCall(run, toolUse, result ?? lateResult);
    } catch (error) {
      failure ??= error;
    }
  }
  run.log.conversation.sort();
  failure = run.ending.failure ?? failure;
  if (failure) throw failure;
}
