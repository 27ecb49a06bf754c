import { errorText } from '../../error/agent-error.ts';
import type { ToolUse } from '../../message/msg.ts';
import { executeTool, type FromRound, type CallingRun } from '../../tool/execute-tool.ts';
import {
  hasResult,
  notStarted,
  errorResult,
  type ReadyCall,
  type ToolCall,
  type ToolOutcome,
} from '../../tool/tool-call.ts';
import type { BoundedWaits } from '../../wait/bounded/bounded-waits.ts';
import type { CallStates } from '../run/call-states.ts';
import type { RunTotals } from '../run/run-totals.ts';
import type { StepParts } from '../run/step-parts.ts';
import type { Toolbox } from '../run/toolbox.ts';
import type { Wrappers } from '../run/wrappers.ts';
import { failCall } from './close-calls.ts';
import { isEndingEarly, mayStart, type ReviewedCall } from './review-calls.ts';

/** The parts of a run that run its tools. */
export interface ToolParts extends StepParts {
  readonly tools: Toolbox;
  readonly states: CallStates;
  readonly totals: RunTotals;
  readonly wrappers: Wrappers;
  readonly waits: BoundedWaits;
  /** The run as its tools see it. */
  readonly forTools: CallingRun;
}

/** Starts the tool of a prepared call, and returns the outcome. Never rejects. */
export async function runTool(
  live: ToolParts,
  call: ReviewedCall,
  fromRound: FromRound,
): Promise<ToolOutcome> {
  const { toolUse } = call.prepared;
  try {
    return await startTool(live, call, fromRound);
  } catch (error) {
    const { started, pending } = live.states.of(toolUse) ?? {};
    const staysOpen = !started && (live.halt.aborted || pending);
    // The other tools stop at once, before the loop reads the outcome.
    const failure = live.waits.failureOf(error);
    const failed = failCall(live.halt, toolUse, failure, errorText(error));
    return staysOpen ? notStarted : failed;
  }
}

async function startTool(
  live: ToolParts,
  call: ReviewedCall,
  fromRound: FromRound,
): Promise<ToolOutcome> {
  if (!mayStart(live)) return notStarted;
  const { prepared } = call;
  // An earlier call may have changed the tools, for example their groups.
  const isSame = prepared.ok && live.tools.current.find(prepared.toolUse.name) === prepared.tool;
  let current = prepared;
  if (!isSame) current = await live.tools.prepare(prepared.toolUse);
  if (!current.ok) return errorResult(current.toolUse, current.problem);
  const { state } = call.open;
  const toolCall: ToolCall = {
    ...current,
    state,
    decision: state.decision,
    waitedFor: state.pending ?? state.waitedFor,
    prepare: (toolUse) => live.tools.prepare(toolUse),
    around: [],
  };
  const outcome = await live.wrappers.runTool(toolCall, (changed) =>
    executeTool(withIdOf(current.toolUse, changed), {
      fromRound,
      run: live.forTools,
      begin: (toolUse) => noteStart(live, current, toolUse),
    }),
  );
  // A wrapper may have answered in place of the tool.
  if (hasResult(outcome) && outcome.state === 'success') live.totals.noteUse(current.tool);
  return outcome;
}

/** Returns a call with the id that the model chose, because the result must name it. */
function withIdOf({ id }: ToolUse, call: ToolCall): ToolCall {
  const { toolUse } = call;
  return toolUse.id === id ? call : { ...call, toolUse: { ...toolUse, id } };
}

/**
 * Notes in the log that a tool starts. Does so once per call, even if wrappers try several times.
 * Resolves with false if the tool must not start. A hook's `stop` during the write comes too late:
 * it leaves the call open, and by the log the tool has started.
 */
async function noteStart(live: ToolParts, ready: ReadyCall, toolUse: ToolUse): Promise<boolean> {
  const state = live.states.of(toolUse);
  if (!state || !mayStart(live)) return false;
  if (state.started) return true;
  const note = { kind: 'call-started', toolUseId: toolUse.id, toolUse } as const;
  await live.log.noteOnly([note], { write: true });
  if (isEndingEarly(live.halt)) return false;
  live.states.applyNotes([note]);
  live.totals.noteUse(ready.tool);
  return true;
}
