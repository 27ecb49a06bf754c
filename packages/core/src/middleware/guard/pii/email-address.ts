/** Letters of scripts without blanks between words. Words before and after an address touch it. */
const unspaced =
  '\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Bopomofo}';
/** A letter or digit of a script with blanks between words. */
const spaced = `(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}])`;

const spacedLocal = new RegExp(`^(?:${spaced}|[_.%+-])$`, 'u');
const unspacedLetter = new RegExp(`^[${unspaced}]$`, 'u');
const inLocal = /^[\p{L}\p{M}\p{N}_.%+-]$/u;

/** Most characters before the `@` if the address touches a word of a script without blanks. */
const longestUnspaced = 64;
/** Most characters between the quotes of a local part. Shorter than what a stream withholds. */
const longestQuoted = 60;

/**
 * Creates the pattern of an address from its `@`, in any script. A label of a domain has letters of
 * scripts with blanks or of scripts without blanks, not both. A top-level domain in a script
 * without blanks counts only where no other can end the domain.
 */
export function emailDomain(): RegExp {
  const label = `(?:${spaced}(?:(?:${spaced}|-){0,61}${spaced})?|[${unspaced}\\d](?:[${unspaced}\\d-]{0,61}[${unspaced}\\d])?)`;
  const name = `(?:(?![${unspaced}])[\\p{L}\\p{M}]){2,63}`;
  const labels = `(?:${label}[.\\u3002]){1,126}`;
  const top = `(?:xn--[a-z\\d-]{1,59}|${name})(?!${spaced})`;
  // Files for sharp screens have names such as `icon@2x.png`.
  return new RegExp(`@(?!\\dx\\.)(?:${labels}${top}|${labels}[${unspaced}]{2,5})`, 'giu');
}

/** Returns whether a character is a letter of a script without blanks between words. */
export function isUnspaced(char: string): boolean {
  return unspacedLetter.test(char);
}

/** Returns the length of the part of an address before its `@`. */
export function localPartLength(text: string, at: number): number {
  const quoted = quotedLength(text, at);
  if (quoted) return quoted;
  // A long vowel mark at the end of a word has become a hyphen.
  const word = text.slice(Math.max(0, at - longestUnspaced), at).replace(/-{1,64}$/, '');
  const isTouching = isUnspaced(charBefore(word, word.length));
  let start = at;
  for (let char = charBefore(text, start); char; char = charBefore(text, start)) {
    const belongs = isTouching
      ? at - start < longestUnspaced && inLocal.test(char)
      : spacedLocal.test(char);
    if (!belongs) break;
    start -= char.length;
  }
  return at - start;
}

/** Returns the length of a quoted local part, such as `"ann lee"`, before an index. */
export function quotedLength(text: string, at: number): number {
  if (text[at - 1] !== '"') return 0;
  const before = text.slice(Math.max(0, at - longestQuoted - 2), at - 1);
  const open = before.lastIndexOf('"');
  const quoted = before.slice(open + 1);
  return open < 0 || !quoted || quoted.includes('\n') ? 0 : quoted.length + 2;
}

/** Returns the length of the characters before an index that may stand before an `@`. */
export function localRunLength(text: string, at: number): number {
  let start = at;
  for (let char = charBefore(text, start); char; char = charBefore(text, start)) {
    if (!spacedLocal.test(char)) break;
    start -= char.length;
  }
  return at - start;
}

/** Returns the character before an index, or an empty text. */
export function charBefore(text: string, at: number): string {
  const unit = text.slice(Math.max(0, at - 1), at);
  return /[\udc00-\udfff]/.test(unit) && /[\ud800-\udbff]/.test(text[at - 2] ?? '')
    ? text.slice(at - 2, at)
    : unit;
}
