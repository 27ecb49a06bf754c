import { AgentError } from '../error/agent-error.ts';

/** Returns whether the name is a pattern. A pattern has a `*`, which matches any text. */
export function isPattern(name: string): boolean {
  return name.includes('*');
}

/**
 * Returns a function that tests whether a tool name is in the list or matches a pattern of the
 * list, such as `mail_*`. Throws `CONFIGURATION` for a pattern with a character that tool names
 * cannot have, such as `mail_.*`, because the pattern would match nothing. `where`: beginning of
 * the error message.
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
