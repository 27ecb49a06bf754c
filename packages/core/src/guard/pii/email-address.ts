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

/**
 * Top-level domains of addresses that are not written as usual. Without this list, `thanks @ann.lee`
 * would be an address.
 */
const usualTops =
  'com|net|org|edu|gov|info|biz|co|io|de|uk|fr|jp|kr|cn|tw|hk|ru|br|nl|ch|se|fi|dk|pl|eu|ca|au';

/** Signs that stand for `@` and for a period in text that hides addresses from programs. */
const bracketed = (word: string): string => `[([{<]\\s{0,2}${word}\\s{0,2}[)\\]}>]`;
const encodedAt = '(?:%40|&#0{0,4}64;|&#x0{0,4}40;|&commat;)';
const encodedDot = '(?:\\.|%2e|&#0{0,4}46;|&#x0{0,4}2e;|&period;)';

/**
 * Creates the pattern of an address with a bracketed `at`, such as `ann (at) example [dot] com`.
 * Without a bracketed `dot`, only usual top-level domains count: `look (at) main.rs` is no address.
 */
export function bracketedDomain(): RegExp {
  const at = `\\s{0,2}(?:${bracketed('at')}|${bracketed('@')})\\s{0,2}`;
  const dot = `\\s{0,2}(?:${bracketed('dot')}|${bracketed('\\.')})\\s{0,2}`;
  const label = '[a-z\\d-]{1,63}';
  const hidden = `(?:${label}(?:${dot}|\\.)){0,5}${label}${dot}(?:${label}\\.){0,3}[a-z]{2,63}`;
  const open = `(?:${label}\\.){1,6}(?:${usualTops})`;
  return new RegExp(`${at}(?:${hidden}|${open})(?![\\p{L}\\d-])`, 'giu');
}

/** Creates the pattern of an address whose `@` is encoded for a URL or for HTML. */
export function encodedDomain(): RegExp {
  const labels = `(?:[\\p{L}\\d-]{1,63}${encodedDot}){1,6}`;
  return new RegExp(`${encodedAt}${labels}\\p{L}{2,63}(?![\\p{L}\\d])`, 'giu');
}

/** Creates the pattern of an address at an IP address: `ann@[10.0.0.1]`. */
export function literalDomain(): RegExp {
  return /@\[(?:\d{1,3}(?:\.\d{1,3}){3}|ipv6:[\da-f:.]{2,45})\]/gi;
}

/** Creates the pattern of an address with blanks around its `@`. */
export function spacedDomain(): RegExp {
  const labels = '(?:[a-z][a-z\\d-]{0,62}\\.){1,4}';
  return new RegExp(`(?: {1,2}@ {0,2}|@ {1,2})${labels}(?:${usualTops})(?![\\p{L}\\d-])`, 'giu');
}

/** Returns the length of the part of an address before its `@`. */
export function localPartLength(text: string, at: number): number {
  const quoted = quotedLength(text, at);
  if (quoted) return quoted;
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

/** Returns the length of a quoted local part, such as `"ann lee"`, before an index. */
function quotedLength(text: string, at: number): number {
  if (text[at - 1] !== '"') return 0;
  const before = text.slice(Math.max(0, at - longestUnspaced - 2), at - 1);
  const open = before.lastIndexOf('"');
  const quoted = before.slice(open + 1);
  return open < 0 || !quoted || quoted.includes('\n') ? 0 : quoted.length + 2;
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
  return hasAt ? run - quotedLength(text, run) : text.length - localRunLength(text);
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
