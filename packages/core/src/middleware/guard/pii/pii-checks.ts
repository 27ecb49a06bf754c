/**
 * Returns whether a Korean resident registration number is valid: its date must exist. A number
 * without a separator also needs a valid checksum. A number with a separator does not, because
 * numbers issued since October 2020 have no checksum.
 */
export function isRrn(match: string): boolean {
  const century = centuries[Number(match.at(-7))]!;
  const year = century * 100 + numberAt(match, 0, 2);
  if (!isDate(year, numberAt(match, 2, 4), numberAt(match, 4, 6))) return false;
  if (match.length > 13) return true;
  let sum = 0;
  for (let at = 0; at < 12; at++) sum += Number(match[at]) * ((at % 8) + 2);
  return (11 - (sum % 11)) % 10 === Number(match[12]);
}

/** Centuries of birth, by the digit after the date. */
const centuries = [18, 19, 19, 20, 20, 19, 19, 20, 20];

/**
 * Returns whether a Chinese resident identity number has a valid date and a valid ISO 7064 MOD 11-2
 * checksum.
 */
export function isCnId(match: string): boolean {
  if (!isDate(numberAt(match, 6, 10), numberAt(match, 10, 12), numberAt(match, 12, 14)))
    return false;
  let sum = 0;
  for (let at = 0; at < 17; at++) sum = sum * 2 + Number(match[at]);
  return '10X98765432'[(sum * 2) % 11] === match[17]!.toUpperCase();
}

/** IBAN lengths in letters and digits, by country code (ISO 13616). */
const ibanLengths =
  'AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SC31SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20';

/**
 * Returns how many characters at the start of the match form an IBAN, or 0. The text after the IBAN
 * may look like one more group.
 */
export function ibanLength(match: string): number {
  const country = ibanLengths.indexOf(match.slice(0, 2).toUpperCase());
  if (country < 0) return 0;
  let end = 0;
  for (let remaining = Number(ibanLengths.slice(country + 2, country + 4)); remaining; end++) {
    if (end === match.length) return 0;
    if (!/[ -]/.test(match[end]!)) remaining -= 1;
  }
  if (/^[a-z\d]/i.test(match.slice(end))) return 0;
  // The check digits count last, and a letter counts as two digits: A is 10 (mod 97).
  const digits = (match.slice(4, end) + match.slice(0, 4))
    .replace(/[ -]/g, '')
    .replace(/[a-z]/gi, (letter) => String(Number.parseInt(letter, 36)));
  return BigInt(digits) % 97n === 1n ? end : 0;
}

/**
 * Returns whether the match is an IPv6 address: eight groups, or three to seven groups with one
 * `::`. Shorter forms such as `::1` and `a::b` are rejected, because they often have another
 * meaning.
 */
export function isIpv6(match: string): boolean {
  const halves = match.split('::');
  const groups = match.split(':').filter((group) => group);
  if (!groups.every((group) => group.length <= 4)) return false;
  if (halves.length === 1) return groups.length === 8 && match.split(':').length === 8;
  return (
    halves.length === 2 && groups.length >= 3 && groups.length <= 7 && !/^:[^:]|[^:]:$/.test(match)
  );
}

/**
 * Returns the length of a URL in characters, without punctuation that belongs to the sentence.
 * Examples are a period, and a closing bracket without an opening bracket in the URL.
 */
export function urlLength(match: string): number {
  let unopenedCount = match.split(')').length - match.split('(').length;
  let end = match.length;
  for (; end > 0; end -= 1) {
    const last = match[end - 1]!;
    if (!/[.,;:!?'’”…)\]}*_|]/.test(last) || (last === ')' && unopenedCount <= 0)) break;
    if (last === ')') unopenedCount -= 1;
  }
  return end;
}

/** Returns whether a date exists. */
function isDate(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= 28 || day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** Parses the digits between `from` and `end` as a number. */
function numberAt(text: string, from: number, end: number): number {
  return Number(text.slice(from, end));
}

/** First digits and lengths of payment cards. */
const brand =
  /^(?:4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[05689]\d{12,17}|(?:5[06-8]|6)\d{11,17})$/;

/** Sizes of groups, as cards print them. */
const printedGroups = /^(?:4,4,4,4(?:,[1-3])?|4,6,5|4,6,4)$/;

/**
 * Returns how many characters at the start of the match are a card number; 0 if none. A group at
 * the end of the match may not belong to the card number. Unusual groups count only with the first
 * digits of a known brand, because lists of numbers look like them.
 */
export function cardLength(match: string, text: string, at: number): number {
  const groups: string[] = match.match(/\d+/g)!;
  const gaps: string[] = match.match(/\D+/g) ?? [];
  const isList = groups.length > 1 && groups[0]!.length <= 2;
  // A longer list of small numbers is no card.
  if (isList && numberBefore.test(text.slice(Math.max(0, at - 5), at))) return 0;
  let digits = groups.join('');
  let end = match.length;
  while (digits.length >= 13) {
    const isCard = isLuhn(digits) && isGrouped(groups, gaps, digits);
    if (isCard && !(isList && numberAfter.test(text.slice(at + end, at + end + 5)))) return end;
    const group = groups.pop()!;
    digits = digits.slice(0, -group.length);
    end -= group.length + (gaps.pop()?.length ?? 0);
  }
  return 0;
}

const numberBefore = /\d[^\p{L}\p{N}]{1,3}$/u;
const numberAfter = /^[^\p{L}\p{N}]{1,3}\d/u;

function isGrouped(groups: readonly string[], gaps: readonly string[], digits: string): boolean {
  const sizes = groups.map(({ length }) => length);
  const isPrinted = printedGroups.test(sizes.join(','));
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

/** Checks the Luhn checksum. Rejects a number that repeats one digit. */
function isLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = 1; at <= digits.length; at++) {
    const weighted = Number(digits[digits.length - at]) * (at % 2 ? 1 : 2);
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0 && !/^(\d)\1*$/.test(digits);
}
