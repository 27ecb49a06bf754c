import { errorText } from '../../error/agent-error.ts';
import type { EventData, EventOf } from '../../event/agent-event.ts';
import type { OpenCall } from '../../event/agent-status.ts';
import type { ToolResult, ToolUse } from '../../message/msg.ts';
import {
  isPreparedCall,
  prepareCall,
  hasResult,
  notStarted,
  deniedResult,
  errorResult,
  interruptedResult,
  wrappedResult,
  type PreparedCall,
  type ReadyCall,
  type ToolCall,
  type ToolOutcome,
} from '../../tool/tool-call.ts';
import { executeTool, type FromRound, type ToolRun } from '../../tool/execute-tool.ts';
import { ToolQueue, type ToolQueueItem } from '../../tool/tool-queue.ts';
import { requireMiddlewareOf } from '../check-options.ts';
import type { Round } from '../middleware.ts';
import type { Next } from '../next.ts';
import { runWrapped, runWrappedTool } from '../run/wrapped-step.ts';
import { recordOutcome, failCall } from './close-calls.ts';
import { endStopped } from './finish.ts';
import { jumpOfRound } from './jump.ts';
import type { LiveRun } from '../run/live-run.ts';
import type { OpenCalls } from '../run/open-calls.ts';
import { runInfo } from '../../model/chat-model.ts';
import type { Haltable } from '../../wait/halt.ts';

/** Runs the open tool calls inside `wrapRound`, and says what follows. */
export async function act(run: LiveRun): Promise<Next> {
  const round: Round = { calls: run.calls.open };
  try {
    return await runWrapped(run, 'wrapRound', round, (changed) => innerRound(run, changed));
  } catch (thrown) {
    // After a failure, the other tools must stop. While tools run, a rejection is a failure, too.
    run.ending.fail(thrown);
    throw run.ending.signal.reason;
  }
}

/**
 * Reviews the calls in order. Then starts their tools at the same time. Results enter the log as
 * they arrive. A call has three forms. `call.open.toolUse` is that of the model or of an earlier
 * run, `call.prepared.toolUse` that of this run's hooks. The tool gets that of the wrappers.
 */
async function innerRound(run: LiveRun, { calls, parallelTools }: Round): Promise<Next> {
  const reviewed = await reviewCalls(run, calls);
  const queue = new ToolQueue(parallelTools ?? run.options.limits.parallelTools);
  const messages = run.prompt.messages;
  for (const call of reviewed)
    queue.start(call.prepared.toolUse, (sink) => runSafely(run, call, { ...sink, messages }));
  for (let items = await queue.next(); items; items = await queue.next()) {
    for (const item of items) {
      // After a failure, such as a full store, the other tools stop. Their results still count.
      await handle(run, item).catch((error: unknown) => run.ending.fail(error));
    }
  }
  run.ending.signal.throwIfAborted();
  const next = await jumpOfRound(run);
  if (next) return next;
  if (run.ending.stopped) return endStopped(run);
  if (!run.calls.pending.length) return { to: 'model' };
  return { kind: 'unanswered', reason: 'suspended', message: run.log.lastReply };
}

/** A tool call that passed the hooks. If it cannot run, `prepared` has the problem. */
interface ReviewedCall {
  readonly open: OpenCall;
  readonly prepared: PreparedCall;
}

/**
 * Checks the calls of a round in order, and passes each one through the `pre-acting` hooks. Returns
 * the calls that passed. The others get their results or stay open. After a `stop`, the remaining
 * calls stay open.
 */
async function reviewCalls(
  run: LiveRun,
  calls: readonly OpenCall[],
): Promise<readonly ReviewedCall[]> {
  const passed: ReviewedCall[] = [];
  // A wrapper may list a call twice.
  for (const call of new Map(calls.map((one) => [one.toolUse.id, one])).values()) {
    if (isStopAsked(run.calls)) break;
    const outcome = await reviewCall(run, call);
    if (isPreparedCall(outcome)) passed.push({ open: call, prepared: outcome });
    // Results that calls have before they start enter the log with the next write.
    else await recordOutcome(run, call.toolUse, outcome, { later: true });
  }
  return passed;
}

/** Returns the call as its tool may get it, or the outcome if the call has one already. */
async function reviewCall(run: LiveRun, call: OpenCall): Promise<PreparedCall | ToolOutcome> {
  const { toolUse, state, result } = call;
  // A wrapper may have closed the call before its `next`.
  if (!run.calls.isOpen(toolUse)) return notStarted;
  if (result) return wrappedResult(toolUse, result);
  if ((state.pending && !state.decision) || !mayStart(run)) return notStarted;
  let prepared = await prepare(run, toolUse);
  const ended = state.started && outcomeOfStarted(call, prepared);
  if (ended) return ended;
  // An earlier run has passed the call through the hooks.
  if (!state.toolUse) {
    const reviewed = await askAboutCall(run, prepared);
    if (!isPreparedCall(reviewed)) return reviewed;
    prepared = reviewed;
  }
  run.calls.markReady(call, prepared.toolUse);
  return prepared;
}

/** Returns whether tools may start. A `stop` of a hook, an interrupt or an abort prevents it. */
function mayStart({ calls, ending }: Pick<LiveRun, 'calls' | 'ending'>): boolean {
  return !isStopAsked(calls) && !isEndingEarly(ending);
}

function isStopAsked({ roundJump }: OpenCalls): boolean {
  return roundJump.jump?.to === 'stop';
}

/**
 * Returns whether an interrupt or an abort ends the run. A run that is only suspended first runs
 * its open calls.
 */
function isEndingEarly({ aborted, interruptSignal }: Haltable): boolean {
  return aborted || interruptSignal.aborted;
}

/** Finds the tool and validates the input. */
async function prepare(
  run: Pick<LiveRun, 'setup' | 'tools' | 'waits'>,
  toolUse: ToolUse,
): Promise<PreparedCall> {
  try {
    const prepared = await run.waits.forCode(prepareCall(run.tools.current, toolUse));
    if (prepared.ok) requireMiddlewareOf(prepared.tool, run.setup.use);
    return prepared;
  } catch (error) {
    if (run.waits.isAbort(error)) throw error;
    // If a schema throws, only this tool call fails.
    return { ok: false, problem: errorText(error), toolUse };
  }
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
  run: Pick<LiveRun, 'calls' | 'ending' | 'outbox' | 'setup' | 'tools' | 'waits'>,
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
    prepared = await prepare(run, toolUse);
    const { problem: _before, ...event } = returned;
    return { ...event, ...shownAs(prepared) };
  };
  let event: EventOf<'pre-acting'>;
  try {
    const data = shownAs(originalCall);
    event = await run.outbox.askHooks('pre-acting', data, run.calls.roundJump, renew, reject);
  } catch (error) {
    if (run.ending.aborted) throw error;
    return failCall(
      run.ending,
      originalCall.toolUse,
      error,
      'A hook failed before this call began.',
    );
  }
  await run.outbox.tellReaders([event]);
  return isStopAsked(run.calls) ? notStarted : (rejection ?? prepared);
}

function shownAs({ toolUse, ...prepared }: PreparedCall): EventData<'pre-acting'> {
  return prepared.ok ? { toolUse } : { toolUse, problem: prepared.problem };
}

/** Handles what a running tool has put into the queue. */
async function handle(run: LiveRun, item: ToolQueueItem): Promise<void> {
  const { toolUse } = item;
  if (item.type === 'events') return run.outbox.tellReaders(item.events);
  if (item.type === 'outcome') {
    // A decision may have changed the arguments. A wrapper may have closed the call.
    const state = run.calls.stateOf(toolUse);
    return state && recordOutcome(run, state.toolUse ?? toolUse, item.outcome);
  }
  // After an abort, nobody needs progress events, and a hook could hang.
  if (run.ending.aborted) return;
  return run.outbox.emit('acting-chunk', { toolUseId: toolUse.id, chunk: item.chunk });
}

/** Starts the tool of a prepared call, and returns the outcome. Never rejects. */
async function runSafely(
  run: LiveRun,
  call: ReviewedCall,
  fromRound: FromRound,
): Promise<ToolOutcome> {
  const { toolUse } = call.prepared;
  try {
    return await runTool(run, call, fromRound);
  } catch (error) {
    const { started, pending } = run.calls.stateOf(toolUse) ?? {};
    const staysOpen = !started && (run.ending.aborted || pending);
    // The other tools stop at once, before the loop reads the outcome.
    const failed = failCall(run.ending, toolUse, error, errorText(error));
    return staysOpen ? notStarted : failed;
  }
}

async function runTool(
  run: LiveRun,
  call: ReviewedCall,
  fromRound: FromRound,
): Promise<ToolOutcome> {
  if (!mayStart(run)) return notStarted;
  const { prepared } = call;
  // An earlier call may have changed the tools, for example their groups.
  const isSame = prepared.ok && run.tools.current.find(prepared.toolUse.name) === prepared.tool;
  const current = isSame ? prepared : await prepare(run, prepared.toolUse);
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
    executeTool(changed, {
      fromRound,
      run: toolRunOf(run),
      begin: (toolUse) => noteStart(run, current, toolUse),
    }),
  );
  // A wrapper may have answered in place of the tool.
  if (hasResult(outcome) && outcome.state === 'success') run.totals.noteUse(current.tool);
  return outcome;
}

/** Returns the run as its tools see it. */
function toolRunOf(run: LiveRun): ToolRun {
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
