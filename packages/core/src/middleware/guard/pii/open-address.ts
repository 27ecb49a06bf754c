import { charBefore, localPartLength, localRunLength, quotedLength } from './email-address.ts';
import { bracketedAt, bracketedDot, encodedAt, encodedDot } from './other-addresses.ts';

/** Most characters after an address's `@` that a stream waits for. */
const longestDomain = 800;

const inAddress = /^[\p{L}\p{M}\p{N}_.%+@\u3002-]$/u;

/** An `@` that is written in another way, or has blanks around it. */
const otherAt = new RegExp(`${bracketedAt}|\\s{0,2}@\\s{0,2}|${encodedAt}`, 'giu');

/** The beginning of such a sign at the end of a text. */
const begunAt =
  /(?:\s{0,2}(?:[([{<]\s{0,2}(?:at?|@)?\s{0,2}[)\]}>]?\s{0,2})?|%4?|&[#\da-z]{0,8};?)$/i;

/** A domain, or the beginning of one. */
const begunDomain = new RegExp(
  `^(?:[\\p{L}\\d.\\u3002-]|${bracketedDot}|${encodedDot})*` +
    '(?:\\s{0,2}(?:[([{<][\\s\\d.:a-z]{0,48})?|%2?|&[#\\da-z]{0,8})$',
  'iu',
);

/**
 * Returns where the end of a text begins that more text could make an address. Expects a text
 * without disguises.
 */
export function openAddress(text: string): number {
  return Math.min(openUsual(text), openOther(text));
}

function openUsual(text: string): number {
  let run = text.length;
  let hasAt = false;
  for (let char = charBefore(text, run); char; char = charBefore(text, run)) {
    if (!inAddress.test(char)) break;
    hasAt ||= char === '@';
    run -= char.length;
  }
  return hasAt ? run - quotedLength(text, run) : text.length - localRunLength(text, text.length);
}

/** Works as `openAddress` for addresses such as `ann [at] example [dot] com`. */
function openOther(text: string): number {
  const from = Math.max(0, text.length - longestDomain);
  const tail = text.slice(from);
  for (const { 0: sign, index } of tail.matchAll(otherAt)) {
    if (begunDomain.test(tail.slice(index + sign.length)))
      return from + index - localPartLength(text, from + index);
  }
  const begun = text.length - begunAt.exec(tail)![0].length;
  return begun - localRunLength(text, begun);
}
