import type { CallState, OpenCall } from '../../event/agent-status.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import { applyMessage, applyNote } from '../../memory/log/call-notes.ts';
import type { LogNote } from '../../memory/log/log-record.ts';
import { toolUsesOf, type ToolUse, type Msg } from '../../message/msg.ts';
import type { Suspension } from '../../tool/tool-call.ts';
import type { Run } from './run.ts';

// The messages of a run say which tool calls are open. `AgentStatus.calls` has the state of each.
// During a run, only this file changes these states.

/** Returns the open tool calls in their order. */
export function openCallsOf(run: Run): readonly OpenCall[] {
  return run.conversation.openToolUses().map((toolUse) => {
    const ownState = callState(run, toolUse);
    const state = ownState ?? assumedState(run);
    return { toolUse: state.toolUse ?? toolUse, state, isNoted: ownState !== undefined };
  });
}

/** Returns whether a tool call has no result yet. */
export function isOpen(run: Run, toolUse: ToolUse): boolean {
  // A search for each of many calls would be slow.
  const isNoted = callState(run, toolUse) !== undefined;
  return isNoted || run.conversation.openToolUses().some(({ id }) => id === toolUse.id);
}

/** Returns what the open tool calls wait for, in the order of the tool calls. */
export function pendingCallsOf(run: Run): readonly PendingCall[] {
  return openCallsOf(run).flatMap(({ state }) => state.pending ?? []);
}

/** Returns the state of a tool call, or nothing if the call has ended or nobody noted its state. */
export function callState({ status }: Run, { id }: ToolUse): CallState | undefined {
  return status.calls.get(id);
}

/**
 * Drops the tool calls of removed messages. Then opens those of new messages, and closes those with
 * a result in them.
 */
export function applyMessages(
  { status }: Run,
  removed: readonly Msg[],
  added: readonly Msg[],
): void {
  for (const { id } of removed.flatMap(toolUsesOf)) status.calls.delete(id);
  for (const message of added) applyMessage(status.calls, message);
}

/** Applies notes of the log, such as decisions and the start of a tool. */
export function applyNotes(run: Run, notes: readonly LogNote[]): void {
  for (const note of notes) {
    if (note.kind === 'decision') keepState(run, note.decision.toolUseId);
    applyNote(run.status.calls, note);
  }
}

/** Keeps a tool call as the hooks left it. Its tool may start now, so it waits for nobody. */
export function markReady(run: Run, { state }: OpenCall, toolUse: ToolUse): void {
  const { pending: _pending, ...rest } = callState(run, toolUse) ?? state;
  run.status.calls.set(toolUse.id, { ...rest, toolUse, started: false });
}

/** Keeps what a tool call waits for. The end of the run writes it to the log. */
export function suspendCall(run: Run, toolUse: ToolUse, outcome: Suspension): void {
  const { suspended: _suspended, kind = 'suspended', ...details } = outcome;
  const { id: toolUseId, name, input } = toolUse;
  const pending: PendingCall = { toolUseId, name, input, kind, ...details };
  keepState(run, toolUseId);
  applyNotes(run, [{ kind: 'suspended', calls: [{ pending, toolUse }] }]);
}

/** Makes sure that an open tool call has a state, which notes can change. */
function keepState(run: Run, id: string): void {
  const { calls } = run.status;
  if (!calls.has(id)) calls.set(id, assumedState(run));
}

/**
 * Returns the state of a tool call without notes. It counts as started, so that its tool runs at
 * most once.
 */
function assumedState({ setup }: Run): CallState {
  return { started: setup.memory.unnotedCalls !== 'run' };
}
