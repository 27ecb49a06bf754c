import { AgentError } from '../error/agent-error.ts';

/** Returns whether the name is a pattern: it has a `*`, which stands for any text. */
export function isPattern(name: string): boolean {
  return name.includes('*');
}

/**
 * Returns a test for names of tools: whether a name is listed or fits a listed pattern, such as
 * `mail_*`. Throws `CONFIGURATION` for a pattern with characters that no tool's name has: such a
 * pattern, like `mail_.*`, would fit nothing. The error mentions `where`.
 */
export function nameMatcher(
  where: string,
  names: readonly string[] = [],
): (name: string) => boolean {
  const patterns = names.filter(isPattern).map((pattern) => toRegExp(where, pattern));
  return (name) => names.includes(name) || patterns.some((pattern) => pattern.test(name));
}

function toRegExp(where: string, pattern: string): RegExp {
  if (!/^[\w*-]+$/.test(pattern))
    throw new AgentError(
      'CONFIGURATION',
      `${where} has the pattern "${pattern}". A pattern may have letters, digits, _, - and *.`,
    );
  return new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
}
