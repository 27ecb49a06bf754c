/** Maximum number of errors in one log entry, so that a cycle of causes ends. */
const mostErrors = 10;

/** Maximum length of a log entry, in characters. */
const longest = 10_000;

/**
 * Returns the text of an error for the Worker's log: its stack, its causes and the errors of an
 * `AggregateError`. Replaces text that looks like a key, a token or a password by `***`.
 */
export function logText(thrown: unknown): string {
  const texts: string[] = [];
  const open: unknown[] = [thrown];
  while (open.length && texts.length < mostErrors) {
    const error = open.shift();
    texts.push(ownText(error));
    open.push(...causesOf(error));
  }
  return withoutKeys(texts.join('\nCaused by: '));
}

/** Returns the text of one error, even if its fields cannot be read. */
function ownText(error: unknown): string {
  try {
    const { name, message, stack } = Object(error) as Partial<Error>;
    if (typeof stack !== 'string') return message ? `${name}: ${message}` : String(error);
    return message && !stack.includes(message) ? `${message}\n${stack}` : stack;
  } catch {
    return 'Unreadable error';
  }
}

function causesOf(error: unknown): readonly unknown[] {
  try {
    const { cause, errors } = Object(error) as Partial<AggregateError>;
    return [...(Array.isArray(errors) ? (errors as unknown[]) : []), ...(cause ? [cause] : [])];
  } catch {
    return [];
  }
}

/** Names after which a secret follows. */
const name = '(?:key|token|secret|passw(?:or)?d|credentials?|signature|jwt)';

/** Quotes and brackets around a name or a value, also in JSON within JSON. */
const quotes = '[\\\\"\'`()[\\]]*';

/** Patterns of secrets. Their first group stays. */
const patterns: readonly RegExp[] = [
  '()-----BEGIN[^-]*PRIVATE KEY-----[^]*?(?:-----END|$)',
  // User name and password in a URL.
  `(//)[^\\s/?#"']{1,500}(?=@)`,
  // Everything after such a name, also text of several words.
  `((?:passw(?:or)?d|passphrase|pwd|authorization|cookie)${quotes}\\s*[:=]\\s*${quotes})[^"'\`\\\\\\n]+`,
  '\\b((?:bearer|basic)(?:[\\s:]|%20)+)(?:(?=\\S{0,500}\\d)[\\w+/=.~-]{8,}|[\\w+/=.~-]{16,})',
  // Values after names, as in "api_key=…" and "Invalid token: …".
  `((?:${name}|\\b(?:auth|pass|pat|sid|sig))${quotes}\\s*(?:=|%3D)\\s*${quotes})[^\\s"'\`&;,]{4,}`,
  `(${name}s?${quotes}\\s*(?:[-=]>|[:,])\\s*${quotes})[^\\s"'\`\\\\,;<>]{12,}`,
  `(${name}${quotes}\\s+${quotes})(?=\\S{0,500}\\d)[\\w+/=.~-]{8,}`,
].map((pattern) => new RegExp(pattern, 'gi'));

/** Text that looks random. The parts of model names and UUIDs are shorter. */
const random = /^(?=.*\d)(?=.*[a-z]).{16}/i;

/** Shortens a text, and replaces parts that look like a key, a token or a password by `***`. */
export function withoutKeys(text: string): string {
  return patterns
    .reduce((clean, pattern) => clean.replace(pattern, '$1***'), text.slice(0, 2 * longest))
    .replace(/[\w-]{16,}/g, (word) =>
      word.split(/[-_]/).some((part) => random.test(part)) ? '***' : word,
    )
    .slice(0, longest);
}
