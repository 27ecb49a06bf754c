import { toolResultsOf, toolUsesOf, type Msg } from '../../message/msg.ts';
import type { LogRecord, LostRecords } from './log-record.ts';

/**
 * Returns whether a log begins in the middle of a run, because the store has lost earlier records.
 * Its first write has a tool call or a result, but no message of a user and no beginning of a run.
 */
export function hasLostStart(firstWrite: readonly (LogRecord | LostRecords)[]): boolean {
  if (firstWrite.some(isStart)) return false;
  return messagesIn(firstWrite).some(
    (message) => toolUsesOf(message).length > 0 || toolResultsOf(message).length > 0,
  );
}

/** Returns the ids of the calls whose results are among the records. */
export function resultIdsIn(records: readonly (LogRecord | LostRecords)[]): ReadonlySet<string> {
  return new Set(
    messagesIn(records)
      .flatMap(toolResultsOf)
      .map(({ toolUseId }) => toolUseId),
  );
}

/** Returns whether a log can begin with a record, whatever came before it. */
export function isStart(record: LogRecord | LostRecords): boolean {
  return (
    record.kind === 'run-begin' || (record.kind === 'message' && record.message.role === 'user')
  );
}

/**
 * Returns the pending records that a new log can have, after the log before was deleted. Skips the
 * records of an ended run, and all before a user's message except the session's state.
 */
export function newStartOf(pending: readonly LogRecord[]): readonly LogRecord[] {
  const runEnd = pending.findLastIndex(({ kind }) => kind === 'run-end');
  const records = pending.slice(runEnd + 1);
  const start = records.findIndex(isStart);
  return records.filter(({ kind }, index) => kind === 'state' || (start !== -1 && index >= start));
}

/**
 * Returns the message without the tool results that belong to none of the calls. Returns
 * `undefined` if no content is left.
 */
export function withoutStrayResults(
  message: Msg,
  calls: { has(id: string): boolean },
): Msg | undefined {
  const content = message.content.filter(
    (block) => block.type !== 'tool_result' || calls.has(block.toolUseId),
  );
  if (content.length === message.content.length) return message;
  return content.length > 0 ? { ...message, content } : undefined;
}

function messagesIn(records: readonly (LogRecord | LostRecords)[]): readonly Msg[] {
  return records.flatMap((each) => (each.kind === 'message' ? [each.message] : []));
}
