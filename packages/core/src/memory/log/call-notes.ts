import type { CallState } from '../../event/call-state.ts';
import { isRecord } from '../../message/json/is-record.ts';
import type { RunNote } from './format/log-record.ts';

/**
 * Applies a note to the states of the open tool calls. The log and a running agent use the same
 * rules. Ignores a tool call that already has its result, and notes about anything else.
 */
export function takeNote(calls: Map<string, CallState>, note: RunNote): void {
  const update = (id: string, change: (state: CallState) => CallState): void => {
    const state = calls.get(id);
    if (isRecord(state)) calls.set(id, change(state as CallState));
  };
  switch (note.kind) {
    case 'call-started':
      update(note.toolUseId, ({ pending: _pending, waited: _waited, decision, ...state }) => ({
        ...state,
        ...(decision && { approved: true }),
        ...(note.toolUse && { toolUse: note.toolUse }),
        started: true,
      }));
      break;
    case 'decision':
      update(note.decision.toolUseId, ({ pending, waited, ...state }) => ({
        ...state,
        waited: pending ?? waited,
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
