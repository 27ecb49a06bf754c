/** Returns the first `length` characters of a text. Servers reject half a surrogate pair. */
export function startOf(text: string, length: number): string {
  return text.slice(0, Math.max(0, length)).replace(/[\uD800-\uDBFF]$/, '');
}

/** Returns the text, or its first `length` characters and an ellipsis if it is longer. */
export function shortenText(text: string, length: number): string {
  return text.length > length ? `${startOf(text, length)}…` : text;
}

/** Decodes a percent-encoded text. Returns `undefined` if it is not valid. */
export function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Returns a checksum of a text (FNV-1a, 32 bits). */
export function textChecksum(text: string): number {
  let sum = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193);
  return sum >>> 0;
}

/** Tags that this library puts around foreign text. */
export const ownTags: readonly string[] = [
  'retrieved_context',
  'response_format',
  'long_term_memory',
];

/**
 * Wraps foreign text in `<name>` and `</name>`, after `cleanText`. A tag in the text could end the
 * block or imitate another block. In tags named `name`, in tags of this library and in `others`,
 * `<` therefore becomes `&lt;`. All other text stays unchanged.
 */
export function fence(name: string, text: string, others: readonly string[] = []): string {
  return `<${name}>\n${withoutTags(cleanText(text), [...ownTags, name, ...others])}\n</${name}>`;
}

/** Replaces `<` with `&lt;` in tags with one of these names. */
export function withoutTags(text: string, names: readonly string[]): string {
  // Also finds look-alikes of "<" and invisible characters. One character class matches all
  // characters before the name, so the regular expression reads them only once.
  const name = names.map(lookalikes).join('|');
  return text.replace(
    new RegExp(`[<＜﹤‹⟨〈〈](?=[\\s/／\\p{Cf}]*(?:${name})(?![\\w-]))`, 'giu'),
    '&lt;',
  );
}

/** Returns a pattern of a name. It also matches full-width letters, and invisible characters. */
function lookalikes(name: string): string {
  return name.replace(/./g, (letter) => {
    const fullWidth = String.fromCharCode(letter.charCodeAt(0) + 0xfee0);
    return `[${letter}${fullWidth}]\\p{Cf}*`;
  });
}

/**
 * Returns text that every server accepts: no unpaired surrogates, no control characters except tab
 * and line feed. Each line separator becomes a line feed.
 */
export function cleanText(text: string): string {
  return text
    .replace(/\r\n|[\r\v\f\x85\u2028\u2029]/g, '\n')
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(/[^\P{Cc}\t\n]/gu, '');
}
