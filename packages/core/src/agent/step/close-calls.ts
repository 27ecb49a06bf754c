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
import type { StepParts } from '../run/step-parts.ts';
import type { Halt } from '../../wait/halt.ts';

/** Number of ticks of `live.clock` that a tool call counts for. */
const ticksOfCall = 10;

/** Ends or suspends a tool call, or leaves it open. */
export async function recordOutcome(
  live: StepParts,
  toolUse: ToolUse,
  outcome: ToolOutcome,
  options?: WriteOptions,
): Promise<void> {
  if (isSuspension(outcome)) live.calls.suspend(toolUse, outcome);
  else if (hasResult(outcome)) await closeCall(live, toolUse, outcome, options);
}

/**
 * Ends an open tool call: passes its result through the `post-acting` hooks, and appends it to the
 * log. `jumpOfRound` later carries out what the hooks ask for. Resolves at once if the call gets
 * another result now. A hook of that result may wait for this function, and must not wait for
 * itself.
 */
export async function closeCall(
  live: StepParts,
  toolUse: ToolUse,
  result: ToolResult,
  options?: WriteOptions,
): Promise<void> {
  const { calls } = live;
  // Another middleware may have closed it.
  if (!calls.isOpen(toolUse) || calls.closingOf(toolUse)) return;
  // Set before the first hook runs, which may be at once.
  const end = calls.beginClosing(toolUse);
  try {
    await giveResult(live, toolUse, result, options);
  } finally {
    end();
  }
}

async function giveResult(
  live: StepParts,
  toolUse: ToolUse,
  result: ToolResult,
  options?: WriteOptions,
): Promise<void> {
  const pause = live.clock.tick(ticksOfCall);
  if (pause) await pause;
  const event = await askAboutResult(live, { toolUse, result });
  // A hook may have removed the call from the conversation.
  if (live.calls.isOpen(toolUse))
    await appendResult(live, { ...event.result, toolUseId: toolUse.id }, options);
  await live.outbox.tellReaders([event]);
}

async function appendResult(
  live: StepParts,
  result: ToolResult,
  options?: WriteOptions,
): Promise<void> {
  const message = live.author.createMessage('tool', [result]);
  try {
    await live.log.append([message], options);
  } catch (error) {
    if (!live.halt.isAbort(error)) await live.log.reload();
    throw error;
  }
}

/** Says that the tools come next. Each call beyond `limits.replyCalls` gets an error result. */
export async function goToTools(live: StepParts, reply?: Msg): Promise<Next> {
  const { replyCalls } = live.options.limits;
  const problem = `A reply may have ${replyCalls} tool calls. Make this call again later.`;
  for (const toolUse of reply ? toolUsesOf(reply).slice(replyCalls) : [])
    await closeCall(live, toolUse, errorResult(toolUse, problem), { later: true });
  return { to: 'tools' };
}

/**
 * Passes a result through the `post-acting` hooks. If they fail, the agent call fails, and the
 * result becomes an error, because a hook might have removed something from it. The hooks then only
 * observe the error.
 */
async function askAboutResult(
  live: StepParts,
  fields: { readonly toolUse: ToolUse; readonly result: ToolResult },
): Promise<EventOf<'post-acting'>> {
  // What hooks ask for at an interrupted call is dropped.
  const request = fields.result.state === 'interrupted' ? {} : live.calls.roundJump;
  try {
    return await live.outbox.askHooks('post-acting', fields, request);
  } catch (error) {
    if (!live.halt.failure && live.halt.isAbort(error)) throw error;
    const { toolUse, result: toolsResult } = fields;
    const failed = live.halt.isStop(error)
      ? interruptedResult(toolUse, live.calls.stateOf(toolUse))
      : failCall(live.halt, toolUse, error, 'A hook failed after this call ended.');
    const result = toolsResult.state === 'interrupted' ? toolsResult : failed;
    const event = live.outbox.event('post-acting', { toolUse, result });
    try {
      await live.outbox.tellHooks(event);
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
  halt: Halt,
  toolUse: ToolUse,
  error: unknown,
  message: string,
): ToolResult {
  halt.fail(error);
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
export async function interruptOpenCalls(live: StepParts): Promise<void> {
  if (!live.log.hasBegun) return;
  const keepsPending = live.halt.failure && live.halt.failure.code !== 'CALL_TIMEOUT';
  let failure: unknown;
  for (const { toolUse, state, isNoted, result } of live.calls.open) {
    // Code of middleware may close the call now, without waiting for it.
    await live.calls.closingOf(toolUse);
    if (!live.calls.isOpen(toolUse)) continue;
    if (keepsPending && state.pending) continue;
    const lateResult = interruptedResult(toolUse, isNoted ? state : undefined);
    try {
      await closeCall(live, toolUse, result ?? lateResult);
    } catch (error) {
      failure ??= error;
    }
  }
  live.log.conversation.sort();
  failure = live.halt.failure ?? failure;
  if (failure) throw failure;
}
