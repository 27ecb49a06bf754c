/** Finder of addresses. `lengthBefore`: length of the part before the match; 0 rejects it. */
interface AddressFinder {
  readonly pattern: RegExp;
  readonly lengthBefore: (text: string, at: number) => number;
}

/** Returns the finders of addresses. Each pattern begins with the `@` or a sign for it. */
export function addressFinders(): readonly AddressFinder[] {
  const finder = (pattern: string, lengthBefore: AddressFinder['lengthBefore']): AddressFinder => ({
    pattern: new RegExp(pattern, 'giu'),
    lengthBefore,
  });
  return [
    finder(`@(?!\\dx\\.)${domainPattern()}`, localPartLength),
    // At an IP address: `ann@[10.0.0.1]`.
    finder('@\\[(?:\\d{1,3}(?:\\.\\d{1,3}){3}|ipv6:[\\da-f:.]{2,45})\\]', localPartLength),
    // With a blank after the `@`, or on both sides.
    finder(` {0,2}@ {1,2}${commonDomain}`, unusualLocalLength),
    // With a blank before the `@`.
    finder(` {1,2}@${commonDomain}`, localLengthBeforeBlank),
    // With a bracketed `at`. `look (at) main.rs` is no address, so only a bracketed `dot` may have
    // any top-level domain.
    finder(`${bracketedAt}(?:${hiddenDomainPattern()}|${commonDomain})`, unusualLocalLength),
    // With an `@` that is encoded for a URL or for HTML.
    finder(
      `${encodedAt}(?:[\\p{L}\\d-]{1,63}(?:\\.|${encodedDot})){1,6}\\p{L}{2,63}(?![\\p{L}\\d])`,
      localPartLength,
    ),
  ];
}

/**
 * Returns the pattern of a domain in any script. A label has letters of scripts with blanks or of
 * scripts without blanks, not both. A top-level domain in a script without blanks counts only where
 * no other can end the domain. Files for sharp screens have names such as `icon@2x.png`.
 */
function domainPattern(): string {
  const spacedLabel = `${spacedLetter}(?:(?:${spacedLetter}|-){0,61}${spacedLetter})?`;
  const unspacedLabel = `[${unspacedLetters}\\d](?:[${unspacedLetters}\\d-]{0,61}[${unspacedLetters}\\d])?`;
  const label = `(?:${spacedLabel}|${unspacedLabel})`;
  const name = `(?:(?![${unspacedLetters}])[\\p{L}\\p{M}]){2,63}`;
  const labels = `(?:${label}[.\\u3002]){1,126}`;
  const topLevelDomain = `(?:xn--[a-z\\d-]{1,59}|${name})(?!${spacedLetter})`;
  return `(?:${labels}${topLevelDomain}|${labels}[${unspacedLetters}]{2,5})`;
}

/** Returns the pattern of a domain with a bracketed `dot`, such as `example [dot] com`. */
function hiddenDomainPattern(): string {
  const label = '[a-z\\d-]{1,63}';
  return `(?:${label}(?:${bracketedDot}|\\.)){0,5}${label}${bracketedDot}(?:${label}\\.){0,3}[a-z]{2,63}(?![\\p{L}\\d-])`;
}

/** Letters of scripts without blanks between words. Words before and after an address touch it. */
const unspacedLetters =
  '\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Bopomofo}';
/** A letter or digit of a script with blanks between words. */
const spacedLetter = `(?:(?![${unspacedLetters}])[\\p{L}\\p{M}\\p{N}])`;

const spacedLocalCharacter = new RegExp(`^(?:${spacedLetter}|[_.%+-])$`, 'u');
const unspacedEnd = new RegExp(`[${unspacedLetters}]$`, 'u');
const localCharacter = /^[\p{L}\p{M}\p{N}_.%+-]$/u;

/** Most characters before the `@` if the address touches a word of a script without blanks. */
const maxUnspacedLength = 64;

/** Returns the length of the part of an address before its `@`. */
function localPartLength(text: string, at: number): number {
  const quotedPartLength = quotedLength(text, at);
  if (quotedPartLength) return quotedPartLength;
  // A long vowel mark at the end of a word has become a hyphen.
  const word = text.slice(Math.max(0, at - maxUnspacedLength), at).replace(/-{1,64}$/, '');
  return unspacedEnd.test(word)
    ? runLength(text, at, localCharacter, maxUnspacedLength)
    : runLength(text, at, spacedLocalCharacter);
}

/** Returns the length of the characters before an index that all fit a pattern. */
function runLength(text: string, at: number, pattern: RegExp, max = Infinity): number {
  let start = at;
  while (start > 0 && at - start < max) {
    const char = charBefore(text, start);
    if (!pattern.test(char)) break;
    start -= char.length;
  }
  return at - start;
}

/** Returns the length of a quoted local part, such as `"ann lee"`, before an index. */
function quotedLength(text: string, at: number): number {
  if (text[at - 1] !== '"') return 0;
  // Shorter than what a stream withholds.
  return /"[^"\n]{1,60}"$/.exec(text.slice(Math.max(0, at - 62), at))?.[0].length ?? 0;
}

/** Returns the character before an index, or an empty text. */
export function charBefore(text: string, at: number): string {
  return /.$/su.exec(text.slice(Math.max(0, at - 2), at))?.[0] ?? '';
}

/** Returns the pattern of a word in brackets. */
const inBrackets = (word: string): string =>
  `\\s{0,2}[([{<]\\s{0,2}${word}\\s{0,2}[)\\]}>]\\s{0,2}`;
/** Signs that stand for `@` and for a period in text that hides addresses from programs. */
const bracketedAt: string = inBrackets('(?:at|@)');
const bracketedDot: string = inBrackets('(?:dot|\\.)');
const encodedAt = '(?:%40|&#0{0,4}64;|&#x0{0,4}40;|&commat;)';
const encodedDot = '(?:%2e|&#0{0,4}46;|&#x0{0,4}2e;|&period;)';

/**
 * A domain in ASCII with a usual top-level domain. Other domains do not count after an unusual `@`,
 * because file names and names of users have periods, too.
 */
const commonDomain =
  '(?!www\\.)(?:[a-z\\d](?:[a-z\\d-]{0,61}[a-z\\d])?\\.){1,6}(?:com|net|org|edu|gov|info|biz|co|io|de|uk|fr|jp|kr|cn|tw|hk|ru|br|nl|ch|se|fi|dk|pl|eu|ca|au)(?![\\p{L}\\d-])';

/**
 * Words before "at" in ordinary sentences, such as "Find us @ example.com". People also write `@`
 * for "at".
 */
const ordinaryWords =
  /^(?:[a-z]|all|also|and|are|available|book|by|call|check|come|concert|dinner|enjoy|event|even|every|everybody|everyone|everything|find|follow|for|free|from|get|go|hello|here|him|her|home|in|is|it|job|join|just|live|look|lunch|me|meet|more|new|news|now|of|off|on|online|only|open|or|order|out|party|posted|price|prices|published|read|register|sale|see|seen|shop|show|sign|sold|start|thanks|that|the|them|this|tickets|time|today|tomorrow|tonight|up|us|via|view|visit|was|watch|we|with|work|works|you)$/i;

/**
 * Returns the length of the part before an `@` that is not written as usual. Returns 0 for an
 * ordinary word, and for a word of a script without blanks.
 */
function unusualLocalLength(text: string, at: number): number {
  if (unspacedEnd.test(charBefore(text, at))) return 0;
  const length = localPartLength(text, at);
  return ordinaryWords.test(text.slice(at - length, at)) ? 0 : length;
}

/**
 * Works as `unusualLocalLength` for `ann @example.com`. `thanks @example.com` names a user. So
 * there must be a word about mail, or a local part that is no word.
 */
function localLengthBeforeBlank(text: string, at: number): number {
  const length = unusualLocalLength(text, at);
  const local = text.slice(at - length, at);
  const precedingText = text.slice(Math.max(0, at - length - 24), at - length);
  return /[\d._+]/.test(local) || mailWords.test(precedingText) ? length : 0;
}

const mailWords = /mail|write to|contact|reach|address|邮|郵|メール|메일/i;

/** Most characters after an address's `@` that a stream waits for. */
const maxDomainLength = 800;

const addressCharacter = /^[\p{L}\p{M}\p{N}_.%+@\u3002-]$/u;

/** An `@` that is written in another way, or has blanks around it. */
const unusualAt = new RegExp(`${bracketedAt}|\\s{0,2}@\\s{0,2}|${encodedAt}`, 'giu');

/** The beginning of such a sign at the end of a text. */
const incompleteAt =
  /(?:\s{0,2}(?:[([{<]\s{0,2}(?:at?|@)?\s{0,2}[)\]}>]?\s{0,2})?|%4?|&[#\da-z]{0,8};?)$/i;

/** A domain, or the beginning of one. */
const incompleteDomain = new RegExp(
  `^(?:[\\p{L}\\d.\\u3002-]|${bracketedDot}|${encodedDot})*` +
    '(?:\\s{0,2}(?:[([{<][\\s\\d.:a-z]{0,48})?|%2?|&[#\\da-z]{0,8})$',
  'iu',
);

/**
 * Returns where the end of a text begins that more text could make an address. Expects a text
 * without disguises.
 */
export function openAddressAt(text: string): number {
  return Math.min(openPlainAddress(text), openHiddenAddress(text));
}

function openPlainAddress(text: string): number {
  const addressStart = text.length - runLength(text, text.length, addressCharacter);
  const hasAt = text.includes('@', addressStart);
  return hasAt
    ? addressStart - quotedLength(text, addressStart)
    : text.length - runLength(text, text.length, spacedLocalCharacter);
}

/** Works as `openAddressAt` for addresses such as `ann [at] example [dot] com`. */
function openHiddenAddress(text: string): number {
  const tailStart = Math.max(0, text.length - maxDomainLength);
  const tail = text.slice(tailStart);
  for (const { 0: sign, index } of tail.matchAll(unusualAt)) {
    if (incompleteDomain.test(tail.slice(index + sign.length)))
      return tailStart + index - localPartLength(text, tailStart + index);
  }
  const start = text.length - incompleteAt.exec(tail)![0].length;
  return start - runLength(text, start, spacedLocalCharacter);
}
