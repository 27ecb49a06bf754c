import { charBefore, isUnspaced, localPartLength } from './email-address.ts';

/** Returns the pattern of a word in brackets. */
const bracketed = (word: string): string => `\\s{0,2}[([{<]\\s{0,2}${word}\\s{0,2}[)\\]}>]\\s{0,2}`;
/** Signs that stand for `@` and for a period in text that hides addresses from programs. */
export const bracketedAt: string = bracketed('(?:at|@)');
export const bracketedDot: string = bracketed('(?:dot|\\.)');
export const encodedAt = '(?:%40|&#0{0,4}64;|&#x0{0,4}40;|&commat;)';
export const encodedDot = '(?:%2e|&#0{0,4}46;|&#x0{0,4}2e;|&period;)';

/**
 * A domain in ASCII with a usual top-level domain. Other domains do not count after an unusual `@`,
 * because file names and names of users have periods, too.
 */
const usualDomain =
  '(?!www\\.)(?:[a-z\\d](?:[a-z\\d-]{0,61}[a-z\\d])?\\.){1,6}(?:com|net|org|edu|gov|info|biz|co|io|de|uk|fr|jp|kr|cn|tw|hk|ru|br|nl|ch|se|fi|dk|pl|eu|ca|au)(?![\\p{L}\\d-])';

/**
 * Creates the pattern of an address with a bracketed `at`, such as `ann (at) example [dot] com`.
 * Without a bracketed `dot`, only usual top-level domains count: `look (at) main.rs` is no address.
 */
export function bracketedDomain(): RegExp {
  const label = '[a-z\\d-]{1,63}';
  const hidden = `(?:${label}(?:${bracketedDot}|\\.)){0,5}${label}${bracketedDot}(?:${label}\\.){0,3}[a-z]{2,63}(?![\\p{L}\\d-])`;
  return new RegExp(`${bracketedAt}(?:${hidden}|${usualDomain})`, 'giu');
}

/** Creates the pattern of an address whose `@` is encoded for a URL or for HTML. */
export function encodedDomain(): RegExp {
  const labels = `(?:[\\p{L}\\d-]{1,63}(?:\\.|${encodedDot})){1,6}`;
  return new RegExp(`${encodedAt}${labels}\\p{L}{2,63}(?![\\p{L}\\d])`, 'giu');
}

/** Creates the pattern of an address at an IP address: `ann@[10.0.0.1]`. */
export function literalDomain(): RegExp {
  return /@\[(?:\d{1,3}(?:\.\d{1,3}){3}|ipv6:[\da-f:.]{2,45})\]/gi;
}

/** Creates the pattern of an address with a blank after its `@`, or on both sides. */
export function spacedDomain(): RegExp {
  return new RegExp(` {0,2}@ {1,2}${usualDomain}`, 'giu');
}

/** Creates the pattern of an address with a blank before its `@`. */
export function detachedDomain(): RegExp {
  return new RegExp(` {1,2}@${usualDomain}`, 'giu');
}

/**
 * Words before "at" in ordinary sentences, such as "Find us @ example.com". People also write `@`
 * for "at".
 */
const ordinary =
  /^(?:[a-z]|all|also|and|are|available|book|by|call|check|come|concert|dinner|enjoy|event|even|every|everybody|everyone|everything|find|follow|for|free|from|get|go|hello|here|him|her|home|in|is|it|job|join|just|live|look|lunch|me|meet|more|new|news|now|of|off|on|online|only|open|or|order|out|party|posted|price|prices|published|read|register|sale|see|seen|shop|show|sign|sold|start|thanks|that|the|them|this|tickets|time|today|tomorrow|tonight|up|us|via|view|visit|was|watch|we|with|work|works|you)$/i;

/**
 * Returns the length of the part before an `@` that is not written as usual. Returns 0 for an
 * ordinary word, and for a word of a script without blanks.
 */
export function otherLocalLength(text: string, at: number): number {
  if (isUnspaced(charBefore(text, at))) return 0;
  const length = localPartLength(text, at);
  return ordinary.test(text.slice(at - length, at)) ? 0 : length;
}

/**
 * Works as `otherLocalLength` for `ann @example.com`. `thanks @example.com` names a user. So there
 * must be a word about mail, or a local part that is no word.
 */
export function detachedLocalLength(text: string, at: number): number {
  const length = otherLocalLength(text, at);
  const local = text.slice(at - length, at);
  const before = text.slice(Math.max(0, at - length - 24), at - length);
  return /[\d._+]/.test(local) || aboutMail.test(before) ? length : 0;
}

const aboutMail = /mail|write to|contact|reach|address|邮|郵|メール|메일/i;
