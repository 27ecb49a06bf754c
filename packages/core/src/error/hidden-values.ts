/** Most values that are kept. Secrets that change often do not use up the memory. */
const mostHidden = 1_000;
/** Shorter values are not hidden: they are parts of many words. */
const shortest = 4;

/** Values that no log may show, in all their forms. */
const hidden: Set<string> = new Set();

/** Removes these values from all later logs, also encoded for URLs, JSON and base64. */
export function hideValues(values: readonly unknown[]): void {
  for (const given of values) {
    // A binding often ends with a line break, which an error does not quote.
    const value = typeof given === 'string' ? given.trim() : '';
    if (value.length < shortest || hidden.has(value)) continue;
    for (const form of formsOf(value)) hidden.add(form);
  }
  for (const oldest of hidden) {
    if (hidden.size <= mostHidden) return;
    hidden.delete(oldest);
  }
}

/** Replaces the hidden values in a text. */
export function withoutHidden(text: string): string {
  // A longer value may contain a shorter one.
  const values = [...hidden].sort((one, other) => other.length - one.length);
  return values.reduce((left, value) => left.replaceAll(value, '***'), text);
}

function formsOf(value: string): readonly string[] {
  const bytes = new TextEncoder().encode(value);
  // A binding with half a character cannot be encoded as it is.
  const inUrl = encodeURIComponent(new TextDecoder().decode(bytes));
  const inJson = escaped(value);
  // Without padding, because some encoders leave it out.
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')).replace(
    /=+$/,
    '',
  );
  return [
    value,
    inUrl,
    inUrl.replaceAll('%20', '+'),
    inJson,
    escaped(inJson),
    base64,
    base64.replaceAll('+', '-').replaceAll('/', '_'),
  ];
}

/** Returns a text as it stands between the quotes of a JSON string. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
