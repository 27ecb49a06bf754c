/** First digits and lengths of payment cards. */
const brand =
  /^(?:4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[05689]\d{12,17}|(?:5[06-8]|6)\d{11,17})$/;

/** Sizes of groups, as cards print them. */
const printed = /^(?:4,4,4,4(?:,[1-3])?|4,6,5|4,6,4)$/;

/**
 * Returns how many characters at the start of the match are a card number; 0 if none. A group at
 * the end of the match may not belong to the card number. Unusual groups count only with the first
 * digits of a known brand, because lists of numbers look like them.
 */
export function cardLength(match: string, text: string, at: number): number {
  const { digits, sizes, ends } = groupsOf(match);
  const isList = sizes.length > 1 && sizes[0]! <= 2;
  // A longer list of small numbers is no card.
  if (isList && numberBefore.test(text.slice(Math.max(0, at - 5), at))) return 0;
  let count = digits.length;
  for (let last = sizes.length - 1; last >= 0 && count >= 13; count -= sizes[last--]!) {
    const end = ends[last]!;
    if (!luhnOk(digits, count) || (isList && numberAfter.test(text.slice(at + end, at + end + 5))))
      continue;
    if (isGrouped(match.slice(0, end), digits.slice(0, count), sizes.slice(0, last + 1)))
      return end;
  }
  return 0;
}

const numberBefore = /\d[^\p{L}\p{N}]{1,3}$/u;
const numberAfter = /^[^\p{L}\p{N}]{1,3}\d/u;

interface Groups {
  readonly digits: string;
  /** Number of digits in each group. */
  readonly sizes: readonly number[];
  /** Index after each group. */
  readonly ends: readonly number[];
}

function groupsOf(match: string): Groups {
  const sizes: number[] = [];
  const ends: number[] = [];
  let digits = '';
  let size = 0;
  for (let at = 0; at <= match.length; at++) {
    const code = match.charCodeAt(at);
    if (code >= 48 && code <= 57) {
      digits += match[at]!;
      size += 1;
    } else if (size > 0) {
      sizes.push(size);
      ends.push(at);
      size = 0;
    }
  }
  return { digits, sizes, ends };
}

function isGrouped(match: string, digits: string, sizes: readonly number[]): boolean {
  const gaps = match.split(/\d+/).slice(1, -1);
  const isPrinted = printed.test(sizes.join(','));
  const isUniform = gaps.every((gap) => gap === gaps[0]);
  if (!gaps.length || (isPrinted && isUniform && /^[ -]$/.test(gaps[0]!))) return true;
  if (!brand.test(digits)) return false;
  if (isPrinted) return true;
  const [size = 0] = sizes;
  if (size <= 2)
    return (
      isUniform &&
      gaps[0]!.length <= 2 &&
      sizes.every((other, index) => other === size || index === sizes.length - 1)
    );
  return sizes.every((other) => other > 3) && gaps.every((gap) => /^[ .·•_/-]{1,2}$/.test(gap));
}

/** Checks the Luhn checksum of the first digits. Rejects a number that repeats one digit. */
function luhnOk(digits: string, count: number): boolean {
  let sum = 0;
  let differ = false;
  for (let at = 0; at < count; at++) {
    const digit = digits.charCodeAt(count - 1 - at) - 48;
    differ ||= digits[at] !== digits[0];
    const weighed = at % 2 ? digit * 2 : digit;
    sum += weighed > 9 ? weighed - 9 : weighed;
  }
  return differ && sum % 10 === 0;
}
