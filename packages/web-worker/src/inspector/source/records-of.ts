import type { Msg } from '@isoloop/core';
import type { LogRecord } from '@isoloop/core/adapter';

/** Returns the records of a log with these messages. */
export function recordsOf(messages: readonly Msg[]): readonly LogRecord[] {
  return messages.map((message) => ({ kind: 'message', message }));
}
