import { messageOf } from '../../error/agent-error.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { Msg } from '../../message/msg.ts';
import type { ReadyCall, ToolCall } from '../../tool/prepare-call.ts';
import { runCall } from '../../tool/run-call.ts';
import { isResult, notStarted, type ToolOutcome } from '../../tool/tool-outcome.ts';
import { toolQueue, type ToolQueueItem, type ToolSink } from '../../tool/tool-queue.ts';
import { errorResult } from '../../tool/tool-result.ts';
import type { Round } from '../middleware.ts';
import { firstOf, type Jump, type Next } from '../next.ts';
import { callState, pendingCallsOf, takeNotes } from '../run/open-calls.ts';
import type { Run } from '../run/run.ts';
import { runWrapped } from '../run/wrapped-step.ts';
import { checkCalls, mayStart, prepare, type CheckedCall } from './check-calls.ts';
import { endCall, failCall } from './conclude.ts';
import { endStopped } from './finish.ts';
import { carryOut } from './jump.ts';

/** Runs the open tool calls inside `wrapRound`, and says what follows. */
export function runRound(run: Run): Promise<Next> {
  return runWrapped(run, 'wrapRound', { calls: run.openCalls }, innerRound);
}

/**
 * Checks the calls in order, with the `pre-acting` hooks. Then starts their tools at the same time.
 * Results enter the log as they arrive.
 */
async function innerRound(run: Run, { calls, parallelTools }: Round): Promise<Next> {
  // What hooks ask for takes effect after the round, but a `stop` prevents the start of tools.
  const jumps: Jump[] = [];
  const checked = await checkCalls(run, calls, jumps);
  const queue = toolQueue(parallelTools ?? run.options.limits.parallelTools);
  const running = { run, jumps, messages: run.request };
  for (const one of checked) queue.start(one.checked.toolUse, (sink) => start(running, one, sink));
  for (let items = await queue.next(); items; items = await queue.next()) {
    for (const item of items) {
      // After a failure, such as a full store, the other tools stop. Their results still count.
      await handle(run, item, jumps).catch((error: unknown) => run.fail(error));
    }
  }
  run.signal.throwIfAborted();
  // The message is read here, because a person may have edited its tool calls meanwhile.
  const message = run.messages.findLast(({ role }) => role === 'assistant');
  const jump = firstOf(jumps);
  if (jump) return carryOut(run, jump, message);
  if (run.stopped) return endStopped(run);
  if (!pendingCallsOf(run).length) return { to: 'model' };
  return { kind: 'stopped', reason: 'suspended', message };
}

/** Handles what a running tool has put into the queue. */
async function handle(run: Run, item: ToolQueueItem, jumps: Jump[]): Promise<void> {
  const { toolUse } = item;
  if (item.type === 'events') return run.outbox.push(run.outbox.adopt(item.events));
  // A decision may have changed the arguments.
  if (item.type === 'outcome')
    return endCall(run, callState(run, toolUse)?.toolUse ?? toolUse, item.outcome, { jumps });
  // After an abort, nobody needs progress events, and a hook could hang.
  if (run.aborted) return;
  return run.outbox.tell('acting-chunk', { toolUseId: toolUse.id, chunk: item.chunk });
}

/** What the tools of a round share. */
interface Running {
  readonly run: Run;
  readonly jumps: readonly Jump[];
  readonly messages: readonly Msg[];
}

/** Starts the tool of a checked call, and returns the outcome. Never rejects. */
async function start(round: Running, one: CheckedCall, sink: ToolSink): Promise<ToolOutcome> {
  const { run } = round;
  const { toolUse } = one.checked;
  try {
    return await runTool(round, one, sink);
  } catch (error) {
    const { started, pending } = callState(run, toolUse) ?? {};
    const staysOpen = !started && (run.aborted || pending);
    // The other tools stop at once, before the loop reads the outcome.
    const failed = failCall(run, toolUse, error, messageOf(error));
    return staysOpen ? notStarted : failed;
  }
}

async function runTool(
  round: Running,
  { call, checked }: CheckedCall,
  sink: ToolSink,
): Promise<ToolOutcome> {
  const { run, messages } = round;
  if (!mayStart(run, round.jumps)) return notStarted;
  // An earlier call may have changed the tools, for example their groups.
  const isSame = checked.ok && run.tools.find(checked.toolUse.name) === checked.tool;
  const ready = isSame ? checked : await prepare(run, checked.toolUse);
  if (!ready.ok) return errorResult(ready.toolUse, ready.problem);
  const { state } = call;
  const given: ToolCall = {
    ...ready,
    state,
    decision: state.decision,
    pending: state.pending ?? state.waited,
    prepare: (toolUse) => prepare(run, toolUse),
  };
  const isExternal = !ready.tool.execute;
  const begin = (toolUse: ToolUse): Promise<boolean> => noteStart(round, ready, toolUse);
  const outcome = await runWrapped(run, 'wrapTool', given, (_run, made) =>
    runCall(made, { ...sink, run, messages, isExternal, begin }),
  );
  // A wrapper may have answered in place of the tool.
  if (isResult(outcome) && outcome.state === 'success') countTool(run, ready);
  return outcome;
}

/**
 * Notes in the log that a tool starts. Does so once per call, even if wrappers try several times.
 * Resolves with false if the tool must not start.
 */
async function noteStart(round: Running, ready: ReadyCall, toolUse: ToolUse): Promise<boolean> {
  const { run } = round;
  if (callState(run, toolUse)?.started) return mayStart(run, round.jumps);
  const note = { kind: 'call-started', toolUseId: toolUse.id, toolUse } as const;
  await run.waits.write(run.setup.memory.note?.([note], { now: true }));
  if (!mayStart(run, round.jumps)) return false;
  takeNotes(run, [note]);
  countTool(run, ready);
  return true;
}

function countTool({ report }: Run, { toolUse, tool }: ReadyCall): void {
  report.toolsUsed.set(toolUse.id, tool.name);
}
