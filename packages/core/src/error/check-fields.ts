import { AgentError, type AgentErrorCode } from './agent-error.ts';

/**
 * Throws for a value that is no object, and for its first field that is of none of its kinds.
 * `fields` has them as `key:kind|kind`, with blanks between: a type, `array`, `count` (a number
 * from 0 on), `read()` for something that can do so, `iterator()` for what can be iterated, a word
 * that stands for itself; `|?` at the end for a field that may be missing.
 */
export function checkFields(
  code: AgentErrorCode,
  where: string,
  value: unknown,
  fields: string,
): void {
  const check = (name: string, given: unknown, kinds: string): void => {
    const wanted = kinds.replace('|?', '');
    if (
      (given !== undefined || !kinds.endsWith('?')) &&
      !wanted.split('|').some((kind) => isKind(given, kind))
    )
      throw new AgentError(code, `${name} must be ${wanted.replace('count', 'number >= 0')}.`);
  };
  check(where, value, 'object');
  for (const field of fields.split(' ')) {
    const [key, kinds] = field.split(':');
    if (kinds) check(`${where}: ${key}`, (value as Record<string, unknown>)[key!], kinds);
  }
}

function isKind(given: unknown, kind: string): boolean {
  if (kind === 'array') return Array.isArray(given);
  if (kind === 'count') return typeof given === 'number' && given >= 0;
  if (kind.endsWith('()'))
    return (
      typeof Object(given)[kind === 'iterator()' ? Symbol.iterator : kind.slice(0, -2)] ===
      'function'
    );
  return given === kind || (typeof given === kind && given !== null);
}
