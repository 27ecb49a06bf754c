import { AgentError } from '../../error/agent-error.ts';
import { checkRecords, type LogRecord } from '../log/log-record.ts';
import type { SessionMemory } from '../session-memory.ts';

/**
 * Stores the `records()` of another session in an empty session, in one write. Rejects with
 * `INVALID_STATE`, and writes nothing, if the session has messages or the records are invalid.
 */
export async function adoptRecords(
  memory: SessionMemory,
  records: readonly LogRecord[],
): Promise<void> {
  checkRecords(records);
  const messages = await memory.read();
  if (messages.length) throw new AgentError('INVALID_STATE', 'The session has messages already.');
  if (records.length) await memory.write(records);
}
