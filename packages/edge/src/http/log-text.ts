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

/** Beginnings of the keys of well-known services. */
const prefixed =
  /\b(?:sk|pk|rk|gsk|hf|r8|npm|whsec|tvly|xai|pplx|nvapi|glpat|lsv2|shp[a-z]{2}|gh[a-z]|github_pat|xox[a-z])[-_](?=[\w-]*\d|[\w-]{16})[\w.-]{4,}|\b(?:AKIA|ASIA|AIza|ya29|eyJ)[\w.-]{12,}/gi;

/** Text that looks random. The parts of model names and UUIDs are shorter. */
const random = /^(?=.*\d)(?=.*[a-z]).{16}/i;

/** Number of words after a name in which a token is looked for. */
const nearby = 5;

/** Most values that are kept. Secrets that change often do not use up the memory. */
const mostHidden = 1_000;
/** Shorter values are not hidden: they are parts of many words. */
const shortestHidden = 4;

/** Values that no log entry may show, as all handlers of the isolate named them. */
const hidden: Set<string> = new Set();

/** Removes these values from all later log entries, also encoded for URLs, JSON and base64. */
export function hideValues(values: readonly unknown[]): void {
  for (const value of values) {
    if (typeof value !== 'string' || value.length < shortestHidden || hidden.has(value)) continue;
    const bytes = new TextEncoder().encode(value);
    const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
    const forms = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1), base64];
    for (const form of forms) hidden.add(form);
  }
  for (const oldest of hidden) {
    if (hidden.size <= mostHidden) return;
    hidden.delete(oldest);
  }
}

/** Shortens a text, and replaces parts that look like a key, a token or a password by `***`. */
export function withoutKeys(text: string): string {
  const start = text.slice(0, 2 * longest);
  const clean = patterns.reduce(
    (left, pattern) => left.replace(pattern, '$1***'),
    withoutHidden(start).replace(prefixed, '***'),
  );
  return withoutNearbyTokens(clean)
    .replace(/[\w-]{16,}/g, (word) =>
      word.split(/[-_]/).some((part) => random.test(part)) ? '***' : word,
    )
    .slice(0, longest);
}

function withoutHidden(text: string): string {
  // A longer value may contain a shorter one.
  const values = [...hidden].sort((one, other) => other.length - one.length);
  return values.reduce((left, value) => left.replaceAll(value, '***'), text);
}

/** Replaces what looks like a token within a few words after a name such as "key". */
function withoutNearbyTokens(text: string): string {
  const names = new RegExp(name, 'i');
  let left = 0;
  return text.replace(/\n|[^\s"'`,;()[\]{}<>\\]+/g, (word) => {
    if (word === '\n') left = 0;
    else if (names.test(word)) left = nearby;
    else if (left-- > 0 && isTokenLike(word)) return '***';
    return word;
  });
}

/**
 * Returns whether a word is a UUID, or has a part that mixes letters and digits. Addresses, file
 * names, and words such as `llama3` and `sha256` are not tokens.
 */
function isTokenLike(word: string): boolean {
  if (/:\/\/|^[./@]|\.[a-z]{2,4}(?::\d+)*[.:]?$/i.test(word)) return false;
  if (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/i.test(word)) return true;
  const parts = word.split(/[-_./=+~:|]/);
  return parts.some(
    (part) =>
      part.length >= 6 &&
      /\d/.test(part) &&
      /[a-z]/i.test(part) &&
      !/^[a-z]+\d{1,3}[a-z]?$/i.test(part),
  );
}
