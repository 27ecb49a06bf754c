import { AgentError } from '../../error/agent-error.ts';
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
 * Returns the part of pending records with which a log can begin anew, after the records before
 * them have vanished. Results without their tool call and notes about nothing are left out.
 */
export function newStartOf(pending: readonly LogRecord[]): readonly LogRecord[] {
  const records = afterLostRun(pending);
  const messages = messagesIn(records);
  const callIds = new Set(messages.flatMap(toolUsesOf).map(({ id }) => id));
  const isWhole = messages.flatMap(toolResultsOf).every(({ toolUseId }) => callIds.has(toolUseId));
  if (isWhole && (messages.length > 0 || records.some(isStart))) return records;
  const start = records.findIndex(isStart);
  return start === -1 ? [] : records.slice(start).flatMap((each) => withoutStray(each, callIds));
}

/** Returns the records after the end of a run that began before them. */
function afterLostRun(records: readonly LogRecord[]): readonly LogRecord[] {
  const end = records.findIndex(({ kind }) => kind === 'run-end');
  const hasBegin = records.slice(0, end + 1).some(({ kind }) => kind === 'run-begin');
  return hasBegin ? records : records.slice(end + 1);
}

/** Returns the error for a session whose records vanished while a run was writing it. */
export function vanishedError(key: string): AgentError {
  const what = `The session's record ${key} was deleted from the store during a run`;
  return new AgentError('STORAGE_FAILED', `${what}. The run ends. Send the message again.`, {
    details: { evicted: true },
  });
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

function withoutStray(record: LogRecord, callIds: ReadonlySet<string>): readonly LogRecord[] {
  if (record.kind !== 'message') return [record];
  const message = withoutStrayResults(record.message, callIds);
  return message ? [{ kind: 'message', message }] : [];
}

function messagesIn(records: readonly (LogRecord | LostRecords)[]): readonly Msg[] {
  return records.flatMap((each) => (each.kind === 'message' ? [each.message] : []));
}
