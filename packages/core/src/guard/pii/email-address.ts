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
  return new RegExp(`@(?:${labels}${top}|${labels}[${unspaced}]{2,5})`, 'giu');
}

/** Returns the length of the part of an address before its `@`. */
export function localPartLength(text: string, at: number): number {
  // A long vowel mark at the end of a word has become a hyphen.
  const word = text.slice(Math.max(0, at - longestUnspaced), at).replace(/-{1,64}$/, '');
  const isTouching = unspacedLetter.test(charBefore(word, word.length));
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

/**
 * Returns where the end of a text begins that more text could make an address. Expects a text
 * without disguises.
 */
export function openAddress(text: string): number {
  let run = text.length;
  let hasAt = false;
  for (let char = charBefore(text, run); char; char = charBefore(text, run)) {
    if (!inAddress.test(char)) break;
    hasAt ||= char === '@';
    run -= char.length;
  }
  return hasAt ? run : text.length - localRunLength(text);
}

const inAddress = /^[\p{L}\p{M}\p{N}_.%+@\u3002-]$/u;

function localRunLength(text: string): number {
  let start = text.length;
  for (let char = charBefore(text, start); char; char = charBefore(text, start)) {
    if (!spacedLocal.test(char)) break;
    start -= char.length;
  }
  return text.length - start;
}

/** Returns the character before an index, or an empty text. */
export function charBefore(text: string, at: number): string {
  const unit = text.slice(Math.max(0, at - 1), at);
  return /[\udc00-\udfff]/.test(unit) && /[\ud800-\udbff]/.test(text[at - 2] ?? '')
    ? text.slice(at - 2, at)
    : unit;
}
