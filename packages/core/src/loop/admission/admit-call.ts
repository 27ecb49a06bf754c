import { messageOf } from '../../error/agent-error.ts';
import type { EventOf } from '../../event/agent-event.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import { prepareCall, type ReadyCall } from '../../tool/prepare-call.ts';
import {
  deniedResult,
  errorResult,
  interruptedResult,
  toolResult,
} from '../../tool/tool-result.ts';
import type { CallState } from '../../event/call-state.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { Run } from '../run/run.ts';
import { editCall } from './edit-call.ts';
import { failCall } from './fail-call.ts';

/**
 * What happens to a tool call next. `ready`: the tool call can start, and is checked again then. So
 * its tool need not be able to run yet. `pending`: the tool call stays open, because it waits for a
 * person or another program, or because the run ends. `result`: the tool call has ended, and its
 * tool does not run.
 */
export type Admission =
  | ReadyAdmission
  | { readonly type: 'pending' }
  | { readonly type: 'result'; readonly toolUse: ToolUse; readonly result: ToolResult }
  /** A hook asked to end the agent call. The tool call stays open and unchanged. */
  | { readonly type: 'stopped' };

export interface ReadyAdmission {
  readonly type: 'ready';
  readonly open: OpenCall;
  readonly call: Prepared;
}

/** A tool call without a result, and its state. */
export interface OpenCall {
  readonly run: Run;
  readonly toolUse: ToolUse;
  readonly state: CallState;
  /**
   * Whether the agent already had a state for this tool call. If not, the memory keeps no notes, and
   * the memory's `openCalls` decides whether the tool counts as started.
   */
  readonly isKnown: boolean;
  readonly decision: Decision | undefined;
  /** What the tool call waits for, or waited for before its decision. */
  readonly waited: PendingCall | undefined;
  /** Whether a middleware has `decide`, which asks for approvals while the run waits. */
  readonly asks: boolean;
}

/**
 * `needs`: whether the tool call needs approval, or the reason for the approval. `problem`: why the
 * tool call cannot run.
 */
export type Prepared =
  | (ReadyCall & { readonly needs: boolean | string })
  | { readonly ok: false; readonly problem: string; readonly toolUse: ToolUse };

/**
 * Decides whether a tool call may start. Checks that the tool exists, is active and accepts the
 * input. Then runs the `pre-acting` hooks and, if needed, asks for approval. Checks the tool call
 * again after a hook changes it. A tool call from an earlier run keeps waiting if it has no
 * decision. If its tool may have started, the tool's `replay` applies.
 */
export async function admitCall(run: Run, toolUse: ToolUse, given?: Decision): Promise<Admission> {
  const asked = openCall(run, toolUse, given);
  run.setup.status.calls.set(toolUse.id, asked.state);
  const settled = settledBefore(asked);
  if (settled) return settled;

  const { state, decision } = asked;
  const isEdit = decision?.type === 'edit' && !isForTool(asked);
  let edited = toolUse;
  if (isEdit) edited = await editCall(run, toolUse, state, decision.input);
  const open = { ...asked, toolUse: edited };
  if (!state.toolUse && isAgents(open)) {
    if (!run.toolCallsLeft) return overLimit(run, edited);
    run.toolCalls += 1;
  }
  let call = await prepare(open, state.toolUse ?? edited);
  // No hook may repair a tool call if its tool may have started.
  if (!call.ok && state.started) return over(edited, errorResult(call.toolUse, call.problem));
  const stopped = call.ok && stopBeforeReplay(open, call);
  if (stopped) return stopped;
  state.started = false;

  if (!state.toolUse) {
    const reviewed = await review(open, call);
    if (reviewed.type !== 'call') return reviewed;
    call = reviewed.call;
  }
  state.toolUse = call.toolUse;
  delete state.pending;
  delete state.waited;
  if (decision) state.approved = true;
  return admission(open, call);
}

/**
 * Checks a tool call again when it starts. An earlier tool call may have changed the tools,
 * for example their groups.
 */
export async function admitAtStart(ready: ReadyAdmission): Promise<Admission> {
  const { open, call } = ready;
  const isSame = call.ok && open.run.tools.find(call.toolUse.name) === call.tool;
  return isSame ? ready : admission(open, await prepare(open, call.toolUse));
}

function admission(open: OpenCall, call: Prepared): Admission {
  if (call.ok) {
    const { decision, asks } = open;
    const needs = !decision && call.needs;
    if (needs && !asks) return wait(open, 'approval', reasonOf(needs));
    // A tool that still waits for an approval may never run.
    if (!needs && isAgents(open)) open.run.toolsUsed.add(call.tool.name);
    if (!call.tool.execute) return wait(open, 'external');
  }
  return { type: 'ready', open, call };
}

/** Returns whether the tool is one of the agent. A tool of the output mode does not count. */
function isAgents({ run, toolUse }: OpenCall): boolean {
  return !run.output?.tools?.some(({ name }) => name === toolUse.name);
}

/** Returns whether a tool call still needs an approval. Runs no hooks. */
export async function needsDecision(run: Run, toolUse: ToolUse): Promise<boolean> {
  const open = openCall(run, toolUse, undefined);
  const { state, decision } = open;
  if (decision) return false;
  if (state.pending) return state.pending.kind === 'approval';
  const call = await prepare(open, state.toolUse ?? toolUse);
  return call.ok && Boolean(call.needs);
}

/**
 * Returns the tool call with its state. One rule says whether the tool counts as started:
 *
 * - The agent or the log has a state of the tool call: as the state says.
 * - No state, and the round is deferred: no. `admitRound` sets this state.
 * - No state, and the memory has `openCalls: 'run'`: no, because the caller says so.
 * - No state, and any other memory: yes, unless the tool call needs approval.
 *
 * A tool call that has not started runs, or suspends if it needs approval. One that has started
 * follows its tool's `replay`.
 */
function openCall(run: Run, toolUse: ToolUse, given: Decision | undefined): OpenCall {
  const { status, use, memory } = run.setup;
  const known = status.calls.get(toolUse.id);
  const state: CallState = known ?? { started: memory.openCalls !== 'run' };
  return {
    run,
    toolUse,
    state,
    isKnown: known !== undefined,
    decision: given ?? state.decision,
    waited: state.pending ?? state.waited,
    asks: use.some(({ decide }) => decide),
  };
}

/**
 * Returns the outcome if a decision ends the tool call. Also returns it if the tool call stays
 * open, because it still waits for its decision or the run ends.
 */
function settledBefore(open: OpenCall): Admission | undefined {
  const { run, toolUse, state, decision, asks } = open;
  if (decision?.type === 'result' && !isForTool(open)) {
    return over(toolUse, toolResult(toolUse, decision.output, decision.state ?? 'success'));
  }
  if (decision?.type === 'reject' && !isForTool(open)) {
    return over(toolUse, deniedResult(toolUse, decision.reason));
  }
  const isAskedNow = asks && state.pending?.kind === 'approval';
  const isWaiting = !decision && state.pending && !isAskedNow;
  return isWaiting || startsNoTool(run) ? { type: 'pending' } : undefined;
}

/**
 * Returns whether an interrupt or an abort prevents further tools from starting. A pause does not
 * prevent it.
 */
export function startsNoTool({ cut }: Run): boolean {
  return cut !== undefined && cut !== 'paused';
}

/**
 * Returns whether the tool itself receives the decision. An example is an agent tool whose child
 * agent has pending tool calls.
 */
function isForTool({ run, toolUse, waited }: OpenCall): boolean {
  const asked = run.tools.find(toolUse.name);
  return (
    waited?.kind === 'suspended' &&
    // The answer to a tool that is gone now is not the tool's result.
    Boolean(typeof asked === 'object' ? asked.takesDecisions : waited.details)
  );
}

/** Finds the tool, validates the input, and checks whether the tool call needs approval. */
async function prepare({ run, state }: OpenCall, edited: ToolUse): Promise<Prepared> {
  try {
    const ready = await run.waits.code(prepareCall(run.tools, edited));
    if (!ready.ok) return { ...ready, toolUse: edited };
    const needs = await needsApproval(run, ready);
    return { ...ready, needs: !state.approved && needs };
  } catch (error) {
    if (run.waits.isAbort(error)) throw error;
    // If a schema or an approval function throws, only this tool call fails.
    return { ok: false, problem: messageOf(error), toolUse: edited };
  }
}

async function needsApproval(run: Run, call: ReadyCall): Promise<boolean | string> {
  const { needsApproval: asked } = call.tool;
  let needs: boolean | string | undefined;
  if (typeof asked === 'function') needs = await run.waits.code(asked(call.input, call.toolUse));
  else needs = asked;
  for (const part of run.setup.use) {
    if (!part.approve) continue;
    const also = await run.waits.code(part.approve(call, run.context));
    needs = also || needs;
  }
  return needs ?? false;
}

function overLimit({ toolCalls }: Run, toolUse: ToolUse): Admission {
  const message = `The limit of ${toolCalls} tool calls is reached. Answer with what you have.`;
  return over(toolUse, errorResult(toolUse, message));
}

/**
 * Prevents a tool that may have started in an earlier run from starting again, unless the tool's
 * `replay` is `safe`. With `replay: 'ask'`, the tool call waits for a decision.
 */
function stopBeforeReplay(open: OpenCall, call: Prepared & { ok: true }): Admission | undefined {
  const { toolUse, state, isKnown, decision } = open;
  const { execute, replay } = call.tool;
  if (decision || !execute || !state.started) return undefined;
  // If a tool call from another process still needs approval, its tool cannot have started.
  if (!isKnown && call.needs) return undefined;
  if (replay === 'safe') return undefined;
  return replay === 'ask' ? wait(open, 'replay') : over(toolUse, interruptedResult(toolUse));
}

/**
 * Passes the tool call to the `pre-acting` hooks, which may change or reject it. If the tool call
 * cannot run, the event names the problem. After a hook changes the tool call, the next hook gets
 * the problem of the changed one.
 */
async function review(
  open: OpenCall,
  call: Prepared,
): Promise<Admission | { readonly type: 'call'; readonly call: Prepared }> {
  const { run, toolUse } = open;
  let refusal: { readonly reason: string } | undefined;
  let isStopped = false;
  const reject = (reason: string): void => void (refusal ??= { reason });
  const stop = (): void => void (isStopped = true);
  let seen = call.toolUse;
  let left = call;
  const renew = async (given: EventOf<'pre-acting'>): Promise<EventOf<'pre-acting'>> => {
    if (given.toolUse === seen) return given;
    seen = given.toolUse;
    // The tool call keeps its id, because the result must name the id that the model chose.
    left = await prepare(open, { ...seen, id: toolUse.id });
    const { problem: _before, ...event } = given;
    return { ...event, ...problemOf(left) };
  };
  const fields = { toolUse: seen, ...problemOf(call) };
  let event: EventOf<'pre-acting'>;
  try {
    event = await run.modify('pre-acting', fields, { reject, stop }, renew);
  } catch (error) {
    if (run.signal.aborted) throw error;
    return over(toolUse, failCall(run, toolUse, error, 'A hook failed before this call began.'));
  }
  await run.push([event]);
  if (isStopped) return { type: 'stopped' };
  if (refusal) return over(toolUse, deniedResult(toolUse, refusal.reason));
  return { type: 'call', call: left };
}

function problemOf(call: Prepared): { readonly problem?: string } {
  return call.ok ? {} : { problem: call.problem };
}

function over(toolUse: ToolUse, result: ToolResult): Admission {
  return { type: 'result', toolUse, result };
}

function wait(
  { run, toolUse, state }: OpenCall,
  kind: PendingCall['kind'],
  reason?: string,
): Admission {
  suspend(run, state.toolUse ?? toolUse, kind, reason);
  return { type: 'pending' };
}

/** Stores what the tool call waits for in the agent's state, and returns it. */
export function suspend(
  run: Run,
  { id: toolUseId, name, input }: ToolUse,
  kind: PendingCall['kind'],
  reason?: string,
  more?: Pick<PendingCall, 'forApproval' | 'details'>,
): PendingCall {
  const pending: PendingCall = {
    toolUseId,
    name,
    input,
    kind,
    ...(reason !== undefined && { reason }),
    ...more,
  };
  Object.assign(run.setup.status.calls.get(toolUseId)!, { pending, started: false });
  return pending;
}

/** Returns the reason that the approver sees. */
export function reasonOf(needs: true | string): string | undefined {
  return needs === true ? undefined : needs;
}
