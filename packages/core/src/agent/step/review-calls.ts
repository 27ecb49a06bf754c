import type { EventData, EventOf } from '../../event/agent-event.ts';
import type { OpenCall } from '../../event/agent-status.ts';
import type { ToolResult } from '../../message/msg.ts';
import {
  isPreparedCall,
  notStarted,
  deniedResult,
  errorResult,
  interruptedResult,
  wrappedResult,
  type PreparedCall,
  type ToolOutcome,
} from '../../tool/tool-call.ts';
import type { Halt } from '../../wait/halt.ts';
import type { OpenCalls } from '../run/open-calls.ts';
import type { StepParts } from '../run/step-parts.ts';
import type { Toolbox } from '../run/toolbox.ts';
import { failCall, recordOutcome } from './close-calls.ts';

/** The parts of a run that decide which tools may start. */
interface ReviewParts extends StepParts {
  readonly tools: Toolbox;
}

/** A tool call that passed the hooks. If it cannot run, `prepared` has the problem. */
export interface ReviewedCall {
  readonly open: OpenCall;
  readonly prepared: PreparedCall;
}

/**
 * Checks the calls of a round in order, and passes each one through the `pre-acting` hooks. Returns
 * the calls that passed. The others get their results or stay open. After a `stop`, the remaining
 * calls stay open.
 */
export async function reviewCalls(
  live: ReviewParts,
  calls: readonly OpenCall[],
): Promise<readonly ReviewedCall[]> {
  const passed: ReviewedCall[] = [];
  // A wrapper may list a call twice.
  for (const call of new Map(calls.map((one) => [one.toolUse.id, one])).values()) {
    if (isStopAsked(live.calls)) break;
    const outcome = await reviewCall(live, call);
    if (isPreparedCall(outcome)) passed.push({ open: call, prepared: outcome });
    // Results that calls have before they start enter the log with the next write.
    else await recordOutcome(live, call.toolUse, outcome, { later: true });
  }
  return passed;
}

/** Returns the call as its tool may get it, or the outcome if the call has one already. */
async function reviewCall(live: ReviewParts, call: OpenCall): Promise<PreparedCall | ToolOutcome> {
  const { toolUse, state, result } = call;
  // A wrapper may have closed the call before its `next`.
  if (!live.calls.isOpen(toolUse)) return notStarted;
  if (result) return wrappedResult(toolUse, result);
  if (state.pending || !mayStart(live)) return notStarted;
  let prepared = await live.tools.prepare(toolUse);
  const ended = state.started && outcomeOfStarted(call, prepared);
  if (ended) return ended;
  // An earlier run has passed the call through the hooks.
  if (!state.toolUse) {
    const reviewed = await askAboutCall(live, prepared);
    if (!isPreparedCall(reviewed)) return reviewed;
    prepared = reviewed;
  }
  live.calls.markReady(call, prepared.toolUse);
  return prepared;
}

/**
 * Returns the outcome of a call whose tool may have started in an earlier run, or nothing if the
 * tool may run again. No hook may repair such a call.
 */
function outcomeOfStarted(call: OpenCall, prepared: PreparedCall): ToolOutcome | undefined {
  if (!prepared.ok) return errorResult(prepared.toolUse, prepared.problem);
  const { execute, replay } = prepared.tool;
  if (call.state.decision || !execute || replay === 'safe') return undefined;
  return replay === 'ask' ? { suspended: true, kind: 'replay' } : interruptedResult(call.toolUse);
}

/**
 * Passes the tool call to the `pre-acting` hooks, which may change, reject or stop it. If the tool
 * call cannot run, the event names the problem. After a hook changes the tool call, the next hook
 * gets the problem of the changed one.
 */
async function askAboutCall(
  live: ReviewParts,
  originalCall: PreparedCall,
): Promise<PreparedCall | ToolOutcome> {
  let rejection: ToolResult | undefined;
  let prepared = originalCall;
  const reject = (reason?: string): void => {
    // Of several rejections, the first one counts.
    rejection ??= deniedResult(originalCall.toolUse, reason);
  };
  const renew = async (returned: EventOf<'pre-acting'>): Promise<EventOf<'pre-acting'>> => {
    if (returned.toolUse === prepared.toolUse) return returned;
    // The tool call keeps its id, because the result must name the id that the model chose.
    const toolUse = { ...returned.toolUse, id: originalCall.toolUse.id };
    prepared = await live.tools.prepare(toolUse);
    const { problem: _before, ...event } = returned;
    return { ...event, ...shownAs(prepared) };
  };
  let event: EventOf<'pre-acting'>;
  try {
    const data = shownAs(originalCall);
    event = await live.outbox.askHooks('pre-acting', data, live.calls.roundJump, renew, reject);
  } catch (error) {
    if (live.halt.aborted) throw error;
    if (live.halt.isStop(error)) return notStarted;
    return failCall(
      live.halt,
      originalCall.toolUse,
      error,
      'A hook failed before this call began.',
    );
  }
  // A hook may have closed the call.
  if (!live.calls.isOpen(originalCall.toolUse)) return notStarted;
  await live.outbox.tellReaders([event]);
  return isStopAsked(live.calls) ? notStarted : (rejection ?? prepared);
}

function shownAs({ toolUse, ...prepared }: PreparedCall): EventData<'pre-acting'> {
  return prepared.ok ? { toolUse } : { toolUse, problem: prepared.problem };
}

/** Returns whether tools may start. A `stop` of a hook, an interrupt or an abort prevents it. */
export function mayStart({ calls, halt }: StepParts): boolean {
  return !isStopAsked(calls) && !isEndingEarly(halt);
}

function isStopAsked({ roundJump }: OpenCalls): boolean {
  return roundJump.jump?.to === 'stop';
}

/**
 * Returns whether an interrupt or an abort ends the run. A run that is only suspended first runs
 * its open calls.
 */
export function isEndingEarly({ aborted, interruptSignal }: Halt): boolean {
  return aborted || interruptSignal.aborted;
}
