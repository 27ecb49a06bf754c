import { AgentError, type AgentErrorCode } from './agent-error.ts';

/**
 * Throws if an id is not a string, or has no visible character. Otherwise `undefined` would be the
 * id of a session or person that many share. `what`: words for the id, such as `session id`.
 */
export function checkId(
  id: unknown,
  what: string,
  code: AgentErrorCode = 'INVALID_INPUT',
): asserts id is string {
  if (typeof id === 'string' && id.trim()) return;
  throw new AgentError(
    code,
    `The ${what} must be a string that is not blank; got ${wordsFor(id)}.`,
  );
}

/** Returns the value, or the kind of a value that may be long. */
function wordsFor(id: unknown): string {
  if (typeof id === 'string') return JSON.stringify(id);
  if (Array.isArray(id)) return 'an array';
  if (typeof id === 'object' && id !== null) return 'an object';
  return typeof id === 'function' ? 'a function' : String(id);
}
