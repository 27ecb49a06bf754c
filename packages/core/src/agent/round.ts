import { messageOf } from '../error/agent-error.ts';
import type { EventOf } from '../event/agent-event.ts';
import type { PendingCall } from '../event/pending-call.ts';
import { takeNote } from '../memory/log/call-notes.ts';
import { resumeOfStarted } from '../memory/log/resumption.ts';
import type { ToolResult, ToolUse } from '../message/content-block.ts';
import { toolUsesOf } from '../message/message-text.ts';
import { prepareCall, type Prepared } from '../tool/prepare-call.ts';
import { isSuspension, type Suspension } from '../tool/run-call.ts';
import { deniedResult, errorResult, interruptedResult, toolResult } from '../tool/tool-result.ts';
import { requireParts } from './check-options.ts';
import type { OpenCall, Round, RunCallOptions } from './middleware.ts';
import { controlOf, type Jump } from './next.ts';
import type { Run } from './run.ts';
import {
  toolQueue,
  type ToolOutcome,
  type ToolQueueItem,
  type ToolSink,
} from '../tool/tool-queue.ts';

/** A tool call whose tool may start. */
interface AdmittedCall {
  readonly call: OpenCall;
  readonly checked: Prepared;
}

/** Number of steps of the run's pace that a tool call counts for. */
const stepsOfCall = 10;

/**
 * Returns the tool calls without a result, with what the log says about them. Each call that the
 * reply makes beyond `limits.replyCalls` has an error result. A call that waits for somebody came
 * before the limit.
 */
export function openCallsOf(run: Run): readonly OpenCall[] {
  const { status, memory } = run.setup;
  const { replyCalls = 128 } = run.options.limits;
  const reply = run.messages.findLast(({ role }) => role === 'assistant');
  const isLong = reply && reply.content.length > replyCalls;
  const late = new Set(isLong ? toolUsesOf(reply).slice(replyCalls) : []);
  const output = `Error: A reply may have ${replyCalls} tool calls. Make this call again later.`;
  return run.conversation.openCalls().map((asked): OpenCall => {
    const known = status.calls.get(asked.id);
    // Nobody noted whether the tool has started. It counts as started, so that it runs at most once.
    const state = known ?? { started: memory.openCalls !== 'run' };
    const isRefused = late.has(asked) && !state.pending && !state.decision;
    return {
      toolUse: state.toolUse ?? asked,
      state,
      isKnown: known !== undefined,
      ...(isRefused && { result: toolResult(asked, output, 'error') }),
    };
  });
}

/** Returns what the open tool calls wait for, in the order of the tool calls. */
export function pendingCallsOf(run: Run): readonly PendingCall[] {
  const { calls } = run.setup.status;
  return run.conversation.openCalls().flatMap(({ id }) => calls.get(id)?.pending ?? []);
}

/**
 * Runs these tool calls. First admits them in order: checks each one, and passes it through the
 * `pre-acting` hooks. Then starts their tools at the same time. Results enter the log as they
 * arrive. Returns the jumps that hooks asked for. After a `stop` or a failure, no tool starts.
 */
export async function runCalls(
  run: Run,
  { calls, parallelTools = run.options.limits.parallelTools }: Round,
): Promise<readonly Jump[]> {
  const asked: Jump[] = [];
  const isStopped = (): boolean => asked.some(({ to }) => to === 'stop');
  const admitted: AdmittedCall[] = [];
  for (const [index, call] of calls.entries()) {
    if (isStopped()) break;
    const made = await admit(run, call, asked);
    if (!made) continue;
    // Given results enter the log in one write.
    const later = calls[index + 1]?.result !== undefined;
    if ('ok' in made) admitted.push({ call, checked: made });
    else await conclude(run, call.toolUse, made, { asked, later });
  }
  const queue = toolQueue(parallelTools);
  const messages = run.request;
  for (const one of admitted)
    queue.start(one.checked.toolUse, (sink) => start(run, one, { ...sink, messages, isStopped }));
  for (let items = await queue.next(); items; items = await queue.next()) {
    for (const item of items) await take(run, item, asked);
  }
  return asked;
}

/**
 * Decides whether the tool of a call may start. Returns the checked call, or its result if it ends
 * here. Returns nothing if the call stays open, for example because it waits for somebody.
 */
async function admit(
  run: Run,
  call: OpenCall,
  asked: Jump[],
): Promise<Prepared | ToolResult | undefined> {
  const { toolUse, state, result } = call;
  const { calls } = run.setup.status;
  if (!call.isKnown) calls.set(toolUse.id, state);
  if (result) return result;
  if ((state.pending && !state.decision) || startsNoTool(run)) return undefined;
  let checked = await check(run, toolUse);
  const ended = state.started && afterStart(run, call, checked);
  if (ended) return ended === 'open' ? undefined : ended;
  // An earlier run has passed the call through the hooks.
  if (!state.toolUse) {
    const reviewed = await review(run, checked, asked);
    if (!reviewed || 'state' in reviewed) return reviewed;
    checked = reviewed;
  }
  const { pending: _pending, ...left } = calls.get(toolUse.id) ?? {};
  calls.set(toolUse.id, { ...left, toolUse: checked.toolUse, started: false });
  noteUse(run, checked);
  return checked;
}

/**
 * Returns the result of a call whose tool may have started in an earlier run, or nothing if the tool
 * may run again. No hook may repair such a call.
 */
function afterStart(run: Run, call: OpenCall, checked: Prepared): ToolResult | 'open' | undefined {
  const { toolUse, state } = call;
  if (!checked.ok) return errorResult(checked.toolUse, checked.problem);
  if (state.decision || !checked.tool.execute) return undefined;
  const resume = resumeOfStarted(checked.tool);
  if (resume === 'close') return interruptedResult(toolUse);
  if (resume === 'run') return undefined;
  suspend(run, toolUse, { suspended: '', kind: 'replay' });
  return 'open';
}

/** Finds the tool and validates the input. */
async function check(run: Run, toolUse: ToolUse): Promise<Prepared> {
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
 * Passes the tool call to the `pre-acting` hooks, which may change, reject or stop it. If the tool
 * call cannot run, the event names the problem. After a hook changes the tool call, the next hook
 * gets the problem of the changed one. Returns nothing if the call stays open.
 */
async function review(
  run: Run,
  first: Prepared,
  asked: Jump[],
): Promise<Prepared | ToolResult | undefined> {
  let refusal: { readonly reason: string } | undefined;
  let checked = first;
  const reject = (reason: string): void => void (refusal ??= { reason });
  const { stop } = controlOf(asked, 'pre-acting');
  const renew = async (given: EventOf<'pre-acting'>): Promise<EventOf<'pre-acting'>> => {
    if (given.toolUse === checked.toolUse) return given;
    // The tool call keeps its id, because the result must name the id that the model chose.
    const toolUse = { ...given.toolUse, id: first.toolUse.id };
    checked = await check(run, toolUse);
    const { problem: _before, ...event } = given;
    return { ...event, toolUse, ...problemOf(checked) };
  };
  const fields = { toolUse: first.toolUse, ...problemOf(first) };
  let event: EventOf<'pre-acting'>;
  try {
    event = await run.modify('pre-acting', fields, { reject, stop }, renew);
  } catch (error) {
    if (run.signal.aborted) throw error;
    return failCall(run, first.toolUse, error, 'A hook failed before this call began.');
  }
  await run.push([event]);
  if (asked.some(({ at }) => at === 'pre-acting')) return undefined;
  return refusal ? deniedResult(first.toolUse, refusal.reason) : checked;
}

function problemOf(checked: Prepared): { readonly problem?: string } {
  return checked.ok ? {} : { problem: checked.problem };
}

/**
 * Returns whether an interrupt or an abort prevents further tools from starting. A run that is only
 * suspended continues with its open calls.
 */
export function startsNoTool({ stopped }: Run): boolean {
  return stopped !== undefined && stopped !== 'suspended';
}

interface Starting extends ToolSink, Pick<RunCallOptions, 'messages'> {
  readonly isStopped: () => boolean;
}

/** Runs the tool of an admitted call. Returns nothing if it has not started. */
async function start(
  run: Run,
  { call, checked }: AdmittedCall,
  { isStopped, ...sink }: Starting,
): Promise<ToolOutcome> {
  const mayNotStart = (): boolean => startsNoTool(run) || isStopped();
  try {
    if (mayNotStart()) return undefined;
    // An earlier call may have changed the tools, for example their groups.
    const isSame = checked.ok && run.tools.find(checked.toolUse.name) === checked.tool;
    const ready = isSame ? checked : await check(run, checked.toolUse);
    if (!ready.ok) return errorResult(ready.toolUse, ready.problem);
    noteUse(run, ready);
    return await run.setup.runTool(ready, {
      ...run.about,
      ...sink,
      decision: call.state.decision,
      isExternal: !ready.tool.execute,
      pending: call.state.pending ?? call.state.waited,
      signal: run.signal,
      run,
      steps: run.steps,
      prepare: (toolUse) => check(run, toolUse),
      begin: (toolUse) => noteStart(run, toolUse, mayNotStart),
    });
  } catch (error) {
    const { started, pending } = run.status.calls.get(checked.toolUse.id) ?? {};
    // The call stays open if its tool has not started and the run was aborted or asks for a decision.
    if (!started && (run.signal.aborted || pending)) {
      run.fail(error);
      return undefined;
    }
    // The other tools stop at once, before the loop reads the outcome.
    return failCall(run, checked.toolUse, error, messageOf(error));
  }
}

/** Notes in the log that a tool starts. Does so once per call, even if wrappers try several times. */
async function noteStart(run: Run, toolUse: ToolUse, mayNotStart: () => boolean): Promise<boolean> {
  const { calls } = run.setup.status;
  if (!calls.get(toolUse.id)?.started) {
    const note = { kind: 'call-started', toolUseId: toolUse.id, toolUse } as const;
    await run.write(run.setup.memory.note?.([note], { now: true }));
    if (mayNotStart()) return false;
    takeNote(calls, note);
  }
  return !mayNotStart();
}

/** Handles one item of the queue: events and results of running tools. */
async function take(run: Run, item: ToolQueueItem, asked: Jump[]): Promise<void> {
  const { toolUse } = item;
  if (item.type === 'events') return run.push(run.adopt(item.events));
  if (item.type === 'progress') {
    // After an abort, nobody needs progress events, and a hook could hang.
    if (run.signal.aborted) return;
    return run.tell('acting-chunk', { toolUseId: toolUse.id, chunk: item.chunk });
  }
  const { outcome } = item;
  // The tool has not started, and its call stays open.
  if (!outcome) return;
  const { toolUse: ran = toolUse } = run.setup.status.calls.get(toolUse.id) ?? {};
  if (isSuspension(outcome)) return suspend(run, ran, outcome);
  if (outcome.state === 'denied') run.toolsUsed.delete(toolUse.id);
  await conclude(run, ran, outcome, { asked });
}

/** Counts a tool as used. One that gives the answer is not used. */
function noteUse(run: Run, checked: Prepared): void {
  if (!checked.ok || checked.tool.takesAnswer) return;
  run.toolsUsed.set(checked.toolUse.id, checked.tool.name);
}

/** Keeps what an open tool call waits for in the agent's state. */
function suspend(run: Run, toolUse: ToolUse, outcome: Suspension): void {
  const { suspended, kind = 'suspended', ...about } = outcome;
  if (kind === 'nothing') return;
  const { id: toolUseId, name, input } = toolUse;
  const reason = suspended ? { reason: suspended } : {};
  const pending: PendingCall = { toolUseId, name, input, kind, ...reason, ...about };
  // A tool that still waits for an approval may never run.
  if (kind === 'approval') run.toolsUsed.delete(toolUseId);
  takeNote(run.setup.status.calls, { kind: 'suspended', calls: [{ pending, toolUse }] });
}

/**
 * Ends a tool call: runs the `post-acting` hooks on its result and appends the result to the log.
 * `asked` gets the jumps that the hooks ask for. `later`: the next write may store the result.
 */
export async function conclude(
  run: Run,
  toolUse: ToolUse,
  result: ToolResult,
  { asked = [], later = false }: { readonly asked?: Jump[]; readonly later?: boolean } = {},
): Promise<void> {
  const turn = run.pace.step(run.now(), stepsOfCall);
  if (turn) await turn;
  const event = await reviewResult(run, { toolUse, result }, asked);
  const message = run.message('tool', [{ ...event.result, toolUseId: toolUse.id }]);
  try {
    await run.append([message], { later });
  } catch (error) {
    // The memory may have kept the result.
    if (!run.waits.isAbort(error)) await reload(run);
    throw error;
  }
  await run.push([event]);
}

async function reload(run: Run): Promise<void> {
  const log = await run.waits.read(run.setup.memory.read()).catch(() => run.messages);
  run.conversation.replace(log);
}

/**
 * Passes a result through the `post-acting` hooks. If they fail, the agent call fails, and the
 * result becomes an error, because a hook might have removed something from it. The hooks then only
 * observe the error.
 */
async function reviewResult(
  run: Run,
  fields: { readonly toolUse: ToolUse; readonly result: ToolResult },
  asked: Jump[],
): Promise<EventOf<'post-acting'>> {
  try {
    return await run.modify('post-acting', fields, controlOf(asked, 'post-acting'));
  } catch (error) {
    if (!run.failure && run.waits.isAbort(error)) throw error;
    const { toolUse, result: given } = fields;
    const failed = failCall(run, toolUse, error, 'A hook failed after this call ended.');
    const result = given.state === 'interrupted' ? given : failed;
    const event = run.event('post-acting', { toolUse, result });
    await run.hooks.notify(event).catch(() => {});
    return event;
  }
}

/**
 * Makes the agent call fail because of a tool call. Returns the result of the tool call for the
 * model. `message` must not quote an exception that did not come from the tool.
 */
function failCall(run: Run, toolUse: ToolUse, error: unknown, message: string): ToolResult {
  run.fail(error);
  return errorResult(toolUse, message);
}

/**
 * Gives each open tool call an `interrupted` result. Then sorts the conversation as models require:
 * each result follows its tool call. If the agent call fails, pending tool calls stay pending,
 * except after a timeout, which also ends the wait for a decision. Rejects with the first failure,
 * after it has tried to close all tool calls.
 */
export async function closeCalls(run: Run): Promise<void> {
  const { calls } = run.setup.status;
  const keepsPending = run.failure && run.failure.code !== 'CALL_TIMEOUT';
  let failure: unknown;
  for (const toolUse of run.conversation.openCalls()) {
    const state = calls.get(toolUse.id);
    if (keepsPending && state?.pending) continue;
    await conclude(run, toolUse, interruptedResult(toolUse, state)).catch((error: unknown) => {
      failure ??= error;
    });
  }
  run.conversation.sort();
  failure = run.failure ?? failure;
  if (failure) throw failure;
}
