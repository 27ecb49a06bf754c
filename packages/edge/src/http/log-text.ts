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

/** Names after which the value of a secret follows. */
const secretName =
  '(?:key|token|secret|passw(?:or)?d|pwd|authorization|cookie|credentials?|signature|jwt)';

const patterns: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // User name and password in a URL.
  [/(\/\/)[^\s/@"']{1,500}@/g, '$1***@'],
  [/\b(bearer|basic) +(?=[^\s"']{0,500}[\d=])[\w+/=.~-]{8,}/gi, '$1 ***'],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g, '***'],
  // Keys of common services, which have a known prefix.
  [
    /\b(?:sk|pk|rk|gsk|xai|hf|gh[a-z]|github_pat|glpat|xox[a-z]|pplx|nvapi|r8|csk|fw|tgp|key|token)[-_][\w-]{12,}/g,
    '***',
  ],
  [/\b(?:AIza[\w-]{30,}|A[KS]IA[A-Z\d]{16}|ya29\.[\w-]{20,})/g, '***'],
  // Values after names, as in "api_key=…" and "Incorrect API key provided: …", also in JSON.
  [new RegExp(`(${secretName}=)[^\\s"'&;,]{4,}`, 'gi'), '$1***'],
  [
    new RegExp(
      `(${secretName}s?\\\\?["']?(?: (?:provided|given|is|was|header|value)){0,3} ?: ?\\\\?["']?)[^\\s"'\\\\,;<>]{12,}`,
      'gi',
    ),
    '$1***',
  ],
  [new RegExp(`(${secretName} ["']?)(?=[^\\s"']*\\d)[\\w+/=.~-]{16,}`, 'gi'), '$1***'],
];

/** Shortens a text, and replaces parts that look like a key, a token or a password by `***`. */
export function withoutKeys(text: string): string {
  return patterns.reduce(
    (clean, [pattern, put]) => clean.replace(pattern, put),
    text.slice(0, longest),
  );
}
