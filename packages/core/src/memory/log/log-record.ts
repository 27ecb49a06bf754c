import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { ToolUse } from '../../message/content-block.ts';
import { isRecord } from '../../message/is-record.ts';
import type { JsonObject } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';

/** What a log tells besides the messages: how far its runs and tool calls have come. */
export type RunNote =
  | { readonly kind: 'run-begin'; readonly runId: string }
  /**
   * `toolUse`: the call as its hooks or a decision left it, where that differs from what the model
   * asked.
   */
  | { readonly kind: 'call-started'; readonly toolUseId: string; readonly toolUse?: ToolUse }
  | { readonly kind: 'decision'; readonly decision: Decision }
  | {
      readonly kind: 'suspended';
      readonly calls: readonly { readonly pending: PendingCall; readonly toolUse?: ToolUse }[];
    }
  /** `reason`: the result's. */
  | { readonly kind: 'run-end'; readonly runId: string; readonly reason: string }
  /**
   * Of the `count` messages from `first` to `last`; the newest one holds until one of the two is
   * cut.
   */
  | {
      readonly kind: 'summary';
      readonly first: string;
      readonly last: string;
      readonly count: number;
      readonly text: string;
    }
  /** Keys to be set; `null` takes a key out. */
  | { readonly kind: 'state'; readonly state: JsonObject };

/**
 * What the log consists of. `cut` takes messages out of the history that were appended before it,
 * `replace` puts one in another's place.
 */
export type LogRecord =
  | { readonly kind: 'message' | 'replace'; readonly message: Msg }
  | { readonly kind: 'cut'; readonly ids: readonly string[] }
  | RunNote;

/** A log as it is stored, a flush behind the other. */
export type Flushes = readonly (readonly LogRecord[])[];

/**
 * Whether a value read from a store is a record; what a message is worth is for `parseMessages` to
 * say.
 */
export function isLogRecord(value: unknown): value is LogRecord {
  if (!isRecord(value)) return false;
  switch (value['kind']) {
    case 'message':
    case 'replace':
      return true;
    case 'cut':
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
