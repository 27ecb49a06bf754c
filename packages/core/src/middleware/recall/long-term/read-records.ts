import { AgentError } from '../../../error/agent-error.ts';
import { isRecord } from '../../../message/json/is-record.ts';
import type { LongTermRecord } from '../../../search/long-term-contract.ts';

/**
 * Returns the records in the result of a memory. Leaves out records without a text and reports
 * their number. Throws `STORAGE_FAILED` if the result is not an array.
 */
export function readRecords(
  found: unknown,
  report: (error: AgentError) => void,
): readonly LongTermRecord[] {
  if (!Array.isArray(found)) throw wrong(`no array, but ${found === null ? 'null' : typeof found}`);
  const records = found.filter(hasText);
  const without = found.length - records.length;
  if (without) report(wrong(`${without} records without a \`text\``));
  return records;
}

function hasText(item: unknown): item is LongTermRecord {
  return isRecord(item) && typeof item['text'] === 'string';
}

function wrong(what: string): AgentError {
  return new AgentError('STORAGE_FAILED', `retrieve() of the long-term memory returned ${what}.`);
}
