import { messageOf } from '../../error/agent-error.ts';
import type { EventOf } from '../../event/agent-event.ts';
import { resumeOfStarted } from '../../memory/log/resumption.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import { prepareCall, type Prepared } from '../../tool/prepare-call.ts';
import { notStarted, type ToolOutcome } from '../../tool/tool-outcome.ts';
import { deniedResult, errorResult, interruptedResult } from '../../tool/tool-result.ts';
import { requireParts } from '../check-options.ts';
import type { OpenCall } from '../middleware.ts';
import { controlOf, isStop, type Jump } from '../next.ts';
import { markReady } from '../run/open-calls.ts';
import type { Run } from '../run/run.ts';
import { endCall, failCall } from './conclude.ts';

/** A tool call whose tool may start. */
export interface CheckedCall {
  readonly call: OpenCall;
  readonly checked: Prepared;
}

/**
 * Checks the calls of a round in order, and passes each one through the `pre-acting` hooks. Returns
 * the calls whose tools may start. The others get their results or stay open. Hooks add what they
 * ask for to `jumps`. After a `stop`, the remaining calls stay open.
 */
export async function checkCalls(
  run: Run,
  calls: readonly OpenCall[],
  jumps: Jump[],
): Promise<readonly CheckedCall[]> {
  const ready: CheckedCall[] = [];
  for (const [index, call] of calls.entries()) {
    if (jumps.some(isStop)) break;
    const made = await checkCall(run, call, jumps);
    // Given results enter the log in one write.
    const later = calls[index + 1]?.result !== undefined;
    if ('ok' in made) ready.push({ call, checked: made });
    else await endCall(run, call.toolUse, made, { jumps, later });
  }
  return ready;
}

/** Returns the checked call if its tool may start, or else the outcome of the call. */
async function checkCall(run: Run, call: OpenCall, jumps: Jump[]): Promise<Prepared | ToolOutcome> {
  const { toolUse, state, result } = call;
  if (result) return result;
  if ((state.pending && !state.decision) || !mayStart(run, jumps)) return notStarted;
  let checked = await prepare(run, toolUse);
  const ended = state.started && afterStart(call, checked);
  if (ended) return ended;
  // An earlier run has passed the call through the hooks.
  if (!state.toolUse) {
    const reviewed = await review(run, checked, jumps);
    if (!('ok' in reviewed)) return reviewed;
    checked = reviewed;
  }
  markReady(run, call, checked.toolUse);
  return checked;
}

/**
 * Returns whether tools may start. A `stop` of a hook, an interrupt or an abort prevents it. A run
 * that is only suspended continues with its open calls.
 */
export function mayStart({ stopped }: Run, jumps: readonly Jump[]): boolean {
  return !jumps.some(isStop) && (!stopped || stopped === 'suspended');
}

/** Finds the tool and validates the input. */
export async function prepare(run: Run, toolUse: ToolUse): Promise<Prepared> {
  try {
    const prepared = await run.waits.code(prepareCall(run.tools, toolUse));
    if (prepared.ok) requireParts(run.setup.use, prepared.tool);
    return prepared;
  } catch (error) {
    if (run.waits.isAbort(error)) throw error;
    // If a schema throws, only this tool call fails.
    return { ok: false, problem: messageOf(error), toolUse };
  }
}

/**
 * Returns the outcome of a call whose tool may have started in an earlier run, or nothing if the
 * tool may run again. No hook may repair such a call.
 */
function afterStart({ toolUse, state }: OpenCall, checked: Prepared): ToolOutcome | undefined {
  if (!checked.ok) return errorResult(checked.toolUse, checked.problem);
  if (state.decision || !checked.tool.execute) return undefined;
  const resume = resumeOfStarted(checked.tool);
  if (resume === 'run') return undefined;
  return resume === 'close' ? interruptedResult(toolUse) : { suspended: '', kind: 'replay' };
}

/**
 * Passes the tool call to the `pre-acting` hooks, which may change, reject or stop it. If the tool
 * call cannot run, the event names the problem. After a hook changes the tool call, the next hook
 * gets the problem of the changed one.
 */
async function review(run: Run, first: Prepared, jumps: Jump[]): Promise<Prepared | ToolOutcome> {
  let refusal: ToolResult | undefined;
  let checked = first;
  const reject = (reason: string): void => {
    refusal ??= deniedResult(first.toolUse, reason);
  };
  const { stop } = controlOf(jumps, 'pre-acting');
  const renew = async (given: EventOf<'pre-acting'>): Promise<EventOf<'pre-acting'>> => {
    if (given.toolUse === checked.toolUse) return given;
    // The tool call keeps its id, because the result must name the id that the model chose.
    const toolUse = { ...given.toolUse, id: first.toolUse.id };
    checked = await prepare(run, toolUse);
    const { problem: _before, ...event } = given;
    return { ...event, toolUse, ...problemOf(checked) };
  };
  const fields = { toolUse: first.toolUse, ...problemOf(first) };
  let event: EventOf<'pre-acting'>;
  try {
    event = await run.outbox.modify('pre-acting', fields, { reject, stop }, renew);
  } catch (error) {
    if (run.aborted) throw error;
    return failCall(run, first.toolUse, error, 'A hook failed before this call began.');
  }
  await run.outbox.push([event]);
  return jumps.some(isStop) ? notStarted : (refusal ?? checked);
}

function problemOf(checked: Prepared): { readonly problem?: string } {
  return checked.ok ? {} : { problem: checked.problem };
}
