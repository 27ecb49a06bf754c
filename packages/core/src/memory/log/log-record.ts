import { AgentError, errorText } from '../../error/agent-error.ts';
import { checkFields } from '../../error/options/check-fields.ts';
import { array, nonNegative, object, oneOf, optional, string } from '../../error/options/kinds.ts';
import type { FieldTable, WithField } from '../../error/options/option-table.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { ToolUse, Msg } from '../../message/msg.ts';
import type { JsonObject } from '../../message/json.ts';
import { parseMessages } from '../../message/validate-message.ts';

/** A log entry about the progress of a run or a tool call, or about other state of the session. */
export type LogNote =
  | { readonly kind: 'run-begin'; readonly runId: string }
  /**
   * `toolUse`: the tool call after the changes of hooks and decisions. May be absent without
   * changes.
   */
  | { readonly kind: 'call-started'; readonly toolUseId: string; readonly toolUse?: ToolUse }
  | { readonly kind: 'decision'; readonly decision: Decision }
  | {
      readonly kind: 'suspended';
      readonly calls: readonly { readonly pending: PendingCall; readonly toolUse?: ToolUse }[];
    }
  /** `reason`: the reason in the run's result. */
  | { readonly kind: 'run-end'; readonly runId: string; readonly reason: string }
  /**
   * A summary of the `count` messages from `firstId` to `lastId`. The newest summary is valid until
   * its first or last message is removed.
   */
  | {
      readonly kind: 'summary';
      readonly firstId: string;
      readonly lastId: string;
      readonly count: number;
      readonly text: string;
    }
  /**
   * A reply that the provider may still be writing: the model's `state`, with which another process
   * can continue to read it. The reply answers the message `afterId`, the last one at that time.
   * Without `state`, there is nothing to continue.
   */
  | { readonly kind: 'reply'; readonly afterId: string; readonly state?: JsonObject }
  /** Keys to set; `null` removes a key. */
  | { readonly kind: 'state'; readonly state: JsonObject };

/**
 * A record of the log. `truncate` removes earlier messages from the history. `replace` replaces the
 * message with the same id.
 */
export type LogRecord =
  | { readonly kind: 'message' | 'replace'; readonly message: Msg }
  | { readonly kind: 'truncate'; readonly ids: readonly string[] }
  | LogNote;

/** Marks a place where records of the log can't be read. Never stored. */
export interface LostRecords {
  readonly kind: 'lost';
}

/** A log as it was read: the records of each flush (one write), in order. */
export type Flushes = readonly (readonly (LogRecord | LostRecords)[])[];

/** Returns the records with which a log gets these messages. */
export function recordsOf(messages: readonly Msg[]): LogRecord[] {
  return messages.map((message) => ({ kind: 'message', message }));
}

/** The fields of each kind of record. */
export const recordFields: {
  readonly [K in LogRecord['kind']]: FieldTable<WithField<LogRecord, 'kind', K>>;
} = {
  message: { message: object },
  replace: { message: object },
  truncate: { ids: array },
  'run-begin': { runId: string },
  'run-end': { runId: string, reason: string },
  'call-started': { toolUseId: string, toolUse: optional(object) },
  decision: { decision: object },
  suspended: { calls: array },
  summary: { firstId: string, lastId: string, text: string, count: nonNegative },
  reply: { afterId: string, state: optional(object) },
  state: { state: object },
};

const recordKind = oneOf(...Object.keys(recordFields));

const toolUseFields: FieldTable<ToolUse> = { id: string, name: string };

/**
 * Throws `INVALID_STATE` if these are not valid records of a session. Records from a store have a
 * checksum instead.
 */
export function checkRecords(records: unknown): asserts records is readonly LogRecord[] {
  checkFields('A session', { records }, { records: array }, 'INVALID_STATE');
  const list = records as readonly LogRecord[];
  for (const record of list) checkRecord(record);
  try {
    parseMessages(list.flatMap((record) => ('message' in record ? [record.message] : [])));
  } catch (cause) {
    const message = `The session has an invalid message: ${errorText(cause)}`;
    throw new AgentError('INVALID_STATE', message, { cause });
  }
}

function checkRecord(record: LogRecord): void {
  const check = (what: string, value: unknown, fields: FieldTable): void =>
    checkFields(what, value, fields, 'INVALID_STATE');
  const checkToolUse = (toolUse: ToolUse | undefined): void => {
    if (toolUse) check('A tool call', toolUse, toolUseFields);
  };
  check('A record', record, { kind: recordKind });
  check(`A record of the kind ${record.kind}`, record, recordFields[record.kind]);
  if (record.kind === 'decision')
    check('A decision', record.decision, { toolUseId: string, type: string });
  if (record.kind === 'call-started') checkToolUse(record.toolUse);
  if (record.kind !== 'suspended') return;
  for (const call of record.calls) {
    check('A suspended call', call, { pending: object });
    check('A pending call', call.pending, { toolUseId: string, name: string, kind: string });
    checkToolUse(call.toolUse);
  }
}
