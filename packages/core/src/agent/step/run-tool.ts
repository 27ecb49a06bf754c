import { errorText } from '../../error/agent-error.ts';
import { runInfo, type RunInfo } from '../../model/chat-model.ts';
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
import type { LiveRun } from '../run/live-run.ts';
import { runWrappedTool, type WrapParts } from '../run/wrapped-step.ts';
import { failCall } from './close-calls.ts';
import { isEndingEarly, mayStart, prepare, type ReviewedCall } from './review-calls.ts';

/** The parts of a run that run its tools. */
export type ToolParts = WrapParts & RunInfo & Pick<LiveRun, 'interrupt' | 'tools' | 'totals'>;

/** Starts the tool of a prepared call, and returns the outcome. Never rejects. */
export async function runTool(
  run: ToolParts,
  call: ReviewedCall,
  fromRound: FromRound,
): Promise<ToolOutcome> {
  const { toolUse } = call.prepared;
  try {
    return await startTool(run, call, fromRound);
  } catch (error) {
    const { started, pending } = run.calls.stateOf(toolUse) ?? {};
    const staysOpen = !started && (run.ending.aborted || pending);
    // The other tools stop at once, before the loop reads the outcome.
    const failed = failCall(run.ending, toolUse, error, errorText(error));
    return staysOpen ? notStarted : failed;
  }
}

async function startTool(
  run: ToolParts,
  call: ReviewedCall,
  fromRound: FromRound,
): Promise<ToolOutcome> {
  if (!mayStart(run)) return notStarted;
  const { prepared } = call;
  // An earlier call may have changed the tools, for example their groups.
  const isSame = prepared.ok && run.tools.current.find(prepared.toolUse.name) === prepared.tool;
  let current = prepared;
  if (!isSame) current = await prepare(run, prepared.toolUse);
  if (!current.ok) return errorResult(current.toolUse, current.problem);
  const { state } = call.open;
  const toolCall: ToolCall = {
    ...current,
    state,
    decision: state.decision,
    waitedFor: state.pending ?? state.waitedFor,
    prepare: (toolUse) => prepare(run, toolUse),
    around: [],
  };
  const outcome = await runWrappedTool(run, toolCall, (changed) =>
    executeTool(withIdOf(current.toolUse, changed), {
      fromRound,
      run: toolRunOf(run),
      begin: (toolUse) => noteStart(run, current, toolUse),
    }),
  );
  // A wrapper may have answered in place of the tool.
  if (hasResult(outcome) && outcome.state === 'success') run.totals.noteUse(current.tool);
  return outcome;
}

/** Returns a call with the id that the model chose, because the result must name it. */
function withIdOf({ id }: ToolUse, call: ToolCall): ToolCall {
  const { toolUse } = call;
  return toolUse.id === id ? call : { ...call, toolUse: { ...toolUse, id } };
}

/** Returns the run as its tools see it. */
function toolRunOf(run: RunInfo & Pick<LiveRun, 'ending' | 'interrupt' | 'tools'>): CallingRun {
  const { signal, interruptSignal } = run.ending;
  const { interrupt, tools } = run;
  return { ...runInfo(run), signal, interruptSignal, interrupt, toolContext: tools.context };
}

/**
 * Notes in the log that a tool starts. Does so once per call, even if wrappers try several times.
 * Resolves with false if the tool must not start. A hook's `stop` during the write comes too late:
 * it leaves the call open, and by the log the tool has started.
 */
async function noteStart(
  run: Pick<LiveRun, 'calls' | 'ending' | 'setup' | 'totals' | 'waits'>,
  ready: ReadyCall,
  toolUse: ToolUse,
): Promise<boolean> {
  const state = run.calls.stateOf(toolUse);
  if (!state || !mayStart(run)) return false;
  if (state.started) return true;
  const note = { kind: 'call-started', toolUseId: toolUse.id, toolUse } as const;
  await run.waits.forWrite(run.setup.log?.note([note], { write: true }));
  if (isEndingEarly(run.ending)) return false;
  run.calls.applyNotes([note]);
  run.totals.noteUse(ready.tool);
  return true;
}
