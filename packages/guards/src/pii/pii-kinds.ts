import { addressFinders } from './email-address.ts';

/** A kind of personal data that `piiRule()` finds, such as `email`. */
export type PiiKind =
  | 'email'
  | 'phone'
  | 'card'
  | 'iban'
  | 'rrn'
  | 'cn-id'
  | 'ssn'
  | 'ip'
  | 'mac'
  | 'url';

type Accept = (match: string, text: string, at: number) => number | boolean;

/**
 * Finder of one kind of personal data. Every pattern has bounded counts, so a search takes linear
 * time.
 */
export interface PiiFinder {
  readonly kind: PiiKind;
  readonly pattern: RegExp;
  /**
   * Returns how many characters of the match are personal data, or whether all or none are.
   * Default: all characters.
   */
  readonly accept?: Accept;
  /** Returns how many characters before the match belong to it; 0 rejects it. Default: none. */
  readonly lengthBefore?: (text: string, at: number) => number;
}

/**
 * Returns the finders by precedence. If two finders match at the same position, the match gets the
 * kind of the earlier finder.
 */
export function piiFinders(): readonly PiiFinder[] {
  return [
    ...addressFinders().map((one) => ({ kind: 'email' as const, ...one })),
    finder(
      'iban',
      /(?<![a-z\d])[a-z]{2}\d{2}(?:[ -]?[a-z\d]{4}){2,7}(?:[ -]?[a-z\d]{1,3})?(?![a-z\d])/gi,
      ibanLength,
    ),
    finder(
      'cn-id',
      /(?<!\d)[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dx](?![a-z\d])/gi,
      isCnId,
    ),
    finder('rrn', /(?<![\d-])\d{6}[ -]{0,3}[1-8]\d{6}(?![\d-])/g, isRrn),
    finder('card', /(?<!\d)\d(?:[^\p{L}\p{N}]{0,5}\d){12,18}(?!\d)/gu, cardLength),
    finder(
      'ssn',
      /(?<![\d-]|\d[._/·])(?!000|666|9)\d{3}([-._/·])(?!00)\d{2}\1(?!0000)\d{4}(?!-|[._/·]?\d)/g,
    ),
    // Without hyphens, nine digits have many meanings, so the name has to stand before them.
    finder(
      'ssn',
      /(?<!\d)(?!000|666|9)\d{3} ?(?!00)\d{2} ?(?!0000)\d{4}(?!\d)/g,
      (_match, text, at) => ssnNamed.test(text.slice(Math.max(0, at - 48), at)),
    ),
    finder(
      'phone',
      /(?<![\w+])(?:\+|00)[1-9]\d{0,2}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}(?!\d)/g,
      (match) => /^(?:\D*\d){8,15}\D*$/.test(match),
    ),
    // The next patterns find numbers of Korea, Japan and other countries with a leading 0, then
    // mobile numbers of China, then numbers of North America.
    finder('phone', /(?<![\d.-])\(?0[1-9]\d{0,2}\)?[ .-]\d{3,4}[ .-]\d{4}(?![ .-]?\d)/g),
    finder('phone', /(?<![\d.-])0(?:1[016-9]\d{7,8}|[789]0\d{8})(?!\d)/g),
    finder('phone', /(?<![\d.-])1[3-9]\d([ -]?)\d{4}\1\d{4}(?![\d-])/g),
    finder('phone', /(?<![\d.-])(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[.-])[2-9]\d{2}[.-]\d{4}(?![\d-])/g),
    finder(
      'mac',
      /(?<![\da-f:.-])(?:[\da-f]{2}([:-])(?:[\da-f]{2}\1){4}[\da-f]{2}|(?:[\da-f]{4}\.){2}[\da-f]{4})(?![\da-f]|[:.-][\da-f])/gi,
    ),
    finder(
      'url',
      // Before folding, punctuation in front of a non-ASCII character was fullwidth. It belongs to
      // the sentence, not to the URL.
      /(?<![a-z\d])(?:(?:https?|ftps?):\/\/(?=[^\s/).,])|www\.(?=[a-z\d]))(?:[^\s<>"`,;:!?()\u3000-\u303f]|[,;:!?()](?=[!-~]|$)){1,4096}/gi,
      urlLength,
    ),
    finder(
      'ip',
      /(?<![\d.\u3002])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)[.\u3002]){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?!\d|[.\u3002]\d)/g,
    ),
    finder('ip', /(?<![\w.])(?:0x[\da-f]{7,8}|\d{8,10})(?![\w.]*\w)/gi, (match, text, at) =>
      isIpNumber(match, text.slice(Math.max(0, at - 24), at)),
    ),
    finder('ip', /(?<![\w:.])[\da-f]{0,4}:[\da-f:]{2,36}(?![\w:])/gi, isIpv6),
  ];
}

function finder(kind: PiiKind, pattern: RegExp, accept?: Accept): PiiFinder {
  return { kind, pattern, ...(accept && { accept }) };
}

/** The name of a US social security number at the end of a text. */
const ssnNamed = /(?:\bssn\b|social[ -]security (?:number|no\b|nr\b|#))[^\d\n]{0,24}$/i;

/**
 * Returns whether a number is an IPv4 address: in range, no date, and after `://` or the word `IP`.
 */
function isIpNumber(match: string, precedingText: string): boolean {
  const value = Number(match);
  if (value < 0x1000000 || value > 0xffffffff || /^(?:19|20)\d{6}$/.test(match)) return false;
  return /:\/\/$|(?<![\w/-])ip(?:v4)?(?: address)?(?: is)?[ :=]{1,3}$/i.test(precedingText);
}

/**
 * Returns whether a Korean resident registration number is valid: its date must exist. A number
 * without a separator also needs a valid checksum. A number with a separator does not, because
 * numbers issued since October 2020 have no checksum.
 */
function isRrn(match: string): boolean {
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
function isCnId(match: string): boolean {
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
function ibanLength(match: string): number {
  const at = ibanLengths.indexOf(match.slice(0, 2).toUpperCase());
  if (at < 0) return 0;
  let end = 0;
  for (let remaining = Number(ibanLengths.slice(at + 2, at + 4)); remaining; end++) {
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
function isIpv6(match: string): boolean {
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
function urlLength(match: string): number {
  let unopenedCount = match.split(')').length - match.split('(').length;
  let end = match.length;
  for (; end > 0; end -= 1) {
    const last = match[end - 1]!;
    if (!/[.,;:!?'’”…)\]}*_|]/.test(last) || (last === ')' && unopenedCount <= 0)) break;
    if (last === ')') unopenedCount -= 1;
  }
  return end;
}

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
function cardLength(match: string, text: string, at: number): number {
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
