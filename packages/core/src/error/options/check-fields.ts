import { AgentError, type AgentErrorCode } from '../agent-error.ts';
import type { Kind } from './option-table.ts';

/** Throws if the value is not an object, or if one of its fields is of a wrong kind. */
export function checkFields(
  where: string,
  value: unknown,
  table: Readonly<Record<string, Kind | undefined>>,
  code: AgentErrorCode = 'CONFIGURATION',
): void {
  checkObject(where, value, code);
  for (const key of Object.keys(table)) {
    const kind = table[key];
    const field: unknown = value[key as keyof object];
    if (!kind || kind.test(field as never)) continue;
    throw new AgentError(code, `${where}: ${key} must be ${kind.words}; got ${kindOf(field)}.`);
  }
}

/** Throws if the value is not an object. */
export function checkObject(
  where: string,
  value: unknown,
  code: AgentErrorCode = 'CONFIGURATION',
): asserts value is object {
  if (typeof value === 'object' && value !== null) return;
  throw new AgentError(code, `${where} must be an object; got ${kindOf(value)}.`);
}

/** Returns words for the kind of a value, such as `an array`, without its content. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null || typeof value === 'number') return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
