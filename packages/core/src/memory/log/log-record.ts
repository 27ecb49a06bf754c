import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { ToolUse } from '../../message/content-block.ts';
import { isRecord } from '../../message/json/is-record.ts';
import type { JsonObject } from '../../message/json/json.ts';
import type { Msg } from '../../message/msg.ts';

/** A log entry about the progress of a run or a tool call, or about other state of the session. */
export type RunNote =
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
   * A summary of the `count` messages from `first` to `last`. `first` and `last` are ids of
   * messages. The newest summary is valid until its first or last message is removed.
   */
  | {
      readonly kind: 'summary';
      readonly first: string;
      readonly last: string;
      readonly count: number;
      readonly text: string;
    }
  /**
   * A reply that the provider may still be writing: the model's `state`, with which another process
   * can continue to read it. The reply answers the message `after`, the last one at that time.
   * Without `state`, there is nothing to continue.
   */
  | { readonly kind: 'reply'; readonly after: string; readonly state?: JsonObject }
  /** Keys to set; `null` removes a key. */
  | { readonly kind: 'state'; readonly state: JsonObject };

/**
 * A record of the log. `truncate` removes earlier messages from the history. `replace` replaces the
 * message with the same id.
 */
export type LogRecord =
  | { readonly kind: 'message' | 'replace'; readonly message: Msg }
  | { readonly kind: 'truncate'; readonly ids: readonly string[] }
  | RunNote;

/** Marks a place where records of the log can't be read. Never stored. */
export interface LostRecords {
  readonly kind: 'lost';
}

/** A log as it was read: the records of each flush (one write), in order. */
export type Flushes = readonly (readonly (LogRecord | LostRecords)[])[];

/** Returns a record for each message. */
export function recordsOf(messages: readonly Msg[]): LogRecord[] {
  return messages.map((message) => ({ kind: 'message', message }));
}

/** Returns the messages in records. */
export function messagesIn(records: readonly LogRecord[]): readonly Msg[] {
  return records.flatMap((record) =>
    record.kind === 'message' || record.kind === 'replace' ? [record.message] : [],
  );
}

/** Returns whether a value from a store is a record. `parseMessages` checks the messages in it. */
export function isLogRecord(value: unknown): value is LogRecord {
  if (!isRecord(value)) return false;
  switch (value['kind']) {
    case 'message':
    case 'replace':
      return true;
    case 'truncate':
      return isTexts(value['ids']);
    case 'run-begin':
      return isText(value['runId']);
    case 'run-end':
      return isText(value['runId']) && isText(value['reason']);
    case 'call-started':
      return isText(value['toolUseId']) && isToolUse(value['toolUse']);
    case 'decision':
      return (
        isRecord(value['decision']) &&
        isText(value['decision']['toolUseId']) &&
        isText(value['decision']['type'])
      );
    case 'suspended':
      return (
        Array.isArray(value['calls']) &&
        value['calls'].every(
          (call) => isRecord(call) && isPending(call['pending']) && isToolUse(call['toolUse']),
        )
      );
    case 'summary':
      return (
        [value['first'], value['last'], value['text']].every(isText) &&
        Number.isSafeInteger(value['count'])
      );
    case 'reply':
      return isText(value['after']) && (value['state'] === undefined || isRecord(value['state']));
    case 'state':
      return isRecord(value['state']);
    default:
      return false;
  }
}

function isPending(value: unknown): boolean {
  return (
    isRecord(value) && isText(value['toolUseId']) && isText(value['name']) && isText(value['kind'])
  );
}

function isToolUse(value: unknown): boolean {
  return value === undefined || (isRecord(value) && isText(value['id']) && isText(value['name']));
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
