import type { CallState } from '../../event/agent-status.ts';
import type { Decision } from '../../event/pending-call.ts';
import { toolResultsOf, toolUsesOf, type Msg } from '../../message/msg.ts';
import type { LogRecord, LogNote } from './log-record.ts';

/** Opens the tool calls of a message, and closes those with a result in it. */
export function applyMessage(calls: Map<string, CallState>, { content }: Msg): void {
  for (const block of content) {
    if (block.type === 'tool_use') calls.set(block.id, {});
    if (block.type === 'tool_result') calls.delete(block.toolUseId);
  }
}

/**
 * Applies that `message` replaces `before`. Drops the states of the tool calls that it no longer
 * has, and of those with a result in it.
 */
export function applyReplacement(calls: Map<string, CallState>, before: Msg, message: Msg): void {
  const keptIds = toolUsesOf(message).map(({ id }) => id);
  const dropped = toolUsesOf(before).filter(({ id }) => !keptIds.includes(id));
  for (const { id } of dropped) calls.delete(id);
  for (const { toolUseId } of toolResultsOf(message)) calls.delete(toolUseId);
}

/**
 * Applies a note to the states of the open tool calls. The log and a running agent use the same
 * rules. Ignores a tool call that already has its result, and notes about anything else.
 */
export function applyNote(calls: Map<string, CallState>, note: LogNote): void {
  const update = (id: string, change: (state: CallState) => CallState): void => {
    const state = calls.get(id);
    if (state) calls.set(id, change(state));
  };
  switch (note.kind) {
    case 'call-started':
      update(
        note.toolUseId,
        ({ pending: _pending, waitedFor: _waitedFor, decision, ...state }) => ({
          ...state,
          ...(decision && { approved: true }),
          ...(note.toolUse && { toolUse: note.toolUse }),
          started: true,
        }),
      );
      break;
    case 'decision':
      update(note.decision.toolUseId, ({ pending, waitedFor, ...state }) => ({
        ...state,
        waitedFor: pending ?? waitedFor,
        decision: note.decision,
      }));
      break;
    case 'suspended':
      for (const { pending, toolUse } of note.calls) {
        update(pending.toolUseId, ({ decision: _decision, ...state }) => ({
          ...state,
          ...(toolUse && { toolUse }),
          pending,
          started: false,
        }));
      }
  }
}

/** Returns the ids of the tool calls that are open according to a note. */
export function notedCallIds(record: LogRecord): readonly string[] {
  switch (record.kind) {
    case 'call-started':
      return [record.toolUseId];
    case 'decision':
      return [record.decision.toolUseId];
    case 'suspended':
      return record.calls.map(({ pending }) => pending.toolUseId);
    default:
      return [];
  }
}

/** Returns a note about the pending tool calls. Returns an empty list if there are none. */
export function suspendedNote(calls: ReadonlyMap<string, CallState>): readonly LogNote[] {
  const pendingCalls = [...calls.values()].flatMap(({ pending, toolUse }) =>
    pending ? [{ pending, ...(toolUse && { toolUse }) }] : [],
  );
  return pendingCalls.length > 0 ? [{ kind: 'suspended', calls: pendingCalls }] : [];
}

/**
 * Returns the notes that restore the state of a tool call: its approval, its start, what it waits
 * for, and its next decision.
 */
export function notesOf(
  toolUseId: string,
  { started, toolUse, approved, decision, waitedFor, pending = waitedFor }: CallState,
): readonly LogNote[] {
  const notes: LogNote[] = [];
  const approval: Decision = { toolUseId, type: 'approve' };
  const use = toolUse && { toolUse };
  if (approved) notes.push({ kind: 'decision', decision: approval });
  if (approved || started) notes.push({ kind: 'call-started', toolUseId, ...use });
  if (pending) notes.push({ kind: 'suspended', calls: [{ pending, ...use }] });
  // The tool call was approved, but its tool did not run.
  const standingDecision = decision ?? (approved && !started && !pending ? approval : undefined);
  if (standingDecision) notes.push({ kind: 'decision', decision: standingDecision });
  return notes;
}
