import { AgentError, type AgentErrorCode } from '../agent-error.ts';
import { kindOf } from './check-fields.ts';

/**
 * Throws if an id is not a string, or is blank. Otherwise many people would share the session with
 * the id `undefined`. `what`: words for the id, such as `session id`.
 */
export function checkId(
  id: unknown,
  what: string,
  code: AgentErrorCode = 'INVALID_INPUT',
): asserts id is string {
  if (typeof id === 'string' && id.trim()) return;
  const words = typeof id === 'string' ? JSON.stringify(id) : kindOf(id);
  throw new AgentError(code, `The ${what} must be a string that is not blank; got ${words}.`);
}
