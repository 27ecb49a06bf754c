import { misconfigured } from '../error/agent-error.ts';

/** Returns whether the name is a pattern. A pattern has a `*`, which matches any text. */
export function isNamePattern(name: string): boolean {
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
  const patterns = names.filter(isNamePattern);
  for (const pattern of patterns) checkPattern(where, pattern);
  return (name) => names.includes(name) || patterns.some((pattern) => matches(pattern, name));
}

function checkPattern(where: string, pattern: string): void {
  if (/^[\w*-]+$/.test(pattern)) return;
  throw misconfigured(
    `${where} has the pattern "${pattern}". A pattern may have letters, digits, _, - and *.`,
  );
}

/** Compares part by part. A regular expression with many `*` would take exponential time. */
function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop() ?? '';
  let from = first.length;
  const end = name.length - last.length;
  if (from > end || !name.startsWith(first) || !name.endsWith(last)) return false;
  for (const part of rest) {
    const index = name.indexOf(part, from);
    if (index < 0 || index + part.length > end) return false;
    from = index + part.length;
  }
  return true;
}

/**
 * Returns the name of a tool that calls an agent: the prefix and the agent's name, shortened to 64
 * characters. Throws `CONFIGURATION` if the agent's name has no ASCII letters or digits. `option`:
 * what then has to give the name.
 */
export function agentToolName(prefix: string, name: string, option: string): string {
  const candidate = `${prefix}${name.replace(/[^\w-]+/g, '_')}`.slice(0, 64);
  if (/[a-z\d]/i.test(candidate.slice(prefix.length))) return candidate;
  throw misconfigured(`The agent "${name}" needs a \`${option}\` with ASCII letters or digits.`);
}
