import type { CallState } from '../../event/agent-status.ts';
import type { JsonValue } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import { notesOf } from './call-notes.ts';
import type { LogNote } from './log-record.ts';

export type SummaryNote = Extract<LogNote, { kind: 'summary' }>;
export type OpenReply = Extract<LogNote, { kind: 'reply' }>;

/**
 * State of a session, computed from its log: the history, and the progress of runs and tool calls.
 */
export interface SessionView {
  /**
   * The messages. Tool results directly follow their tool calls, in the order of the tool calls.
   */
  readonly messages: readonly Msg[];
  /** The tool calls without a result, by id. */
  readonly calls: ReadonlyMap<string, CallState>;
  /**
   * Id of the last run, if it has not ended, or ended suspended, with an error or with open tool
   * calls.
   */
  readonly openRunId: string | undefined;
  /**
   * Reason with which the last run ended. `undefined` if the run was cut off or is still running.
   */
  readonly endReason: string | undefined;
  /** Id of the last run, if an interrupt or abort ended it. */
  readonly stoppedRunId?: string | undefined;
  readonly summary: SummaryNote | undefined;
  /** A reply that another process may continue to read, until the log has an answer. */
  readonly reply: OpenReply | undefined;
  readonly state: Readonly<Record<string, JsonValue>>;
}

/**
 * Returns whether the messages still contain those that a summary describes. `start`: index of the
 * first one.
 */
export function covers(
  { firstId, lastId, count }: Omit<SummaryNote, 'kind'>,
  messages: readonly Msg[],
  start: number,
): boolean {
  return messages[start]?.id === firstId && messages[start + count - 1]?.id === lastId;
}

/** Returns the fewest notes that describe the state of a run and its open tool calls. */
export function standingNotes({
  calls,
  openRunId,
  endReason,
  stoppedRunId = '',
}: Pick<SessionView, 'calls' | 'openRunId' | 'endReason' | 'stoppedRunId'>): readonly LogNote[] {
  const notes = [...calls].flatMap(([id, call]) => notesOf(id, call));
  if (openRunId !== undefined) notes.unshift({ kind: 'run-begin', runId: openRunId });
  if (endReason !== undefined)
    notes.push({ kind: 'run-end', runId: openRunId ?? stoppedRunId, reason: endReason });
  return notes;
}
