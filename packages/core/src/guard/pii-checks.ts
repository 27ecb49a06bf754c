/** Characters of a card's number at the beginning of the match; 0 where there is none. A last short group may be another number. */
export function cardLength(match: string): number {
  if (luhnOk(match)) return match.length;
  const four = /^(?:\d{4}[ -]){3}\d{4}(?=[ -])/.exec(match)?.[0] ?? '';
  return luhnOk(four) ? four.length : 0;
}

/** The check sum of payment cards. One digit all over is none. */
function luhnOk(match: string): boolean {
  const digits = digitsOf(match);
  if (digits.every((digit) => digit === digits[0])) return false;
  const sum = digits.toReversed().reduce((total, digit, index) => total + (index % 2 ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit), 0);
  return sum % 10 === 0;
}

/**
 * Korea's resident registration number: the date has to exist. The check sum has to fit where no hyphen parts the number; with one it
 * need not, as numbers given out since October 2020 have none.
 */
export function rrnOk(match: string): boolean {
  const digits = digitsOf(match);
  const century = [18, 19, 19, 20, 20, 19, 19, 20, 20][digits[6]!]!;
  if (!dateOk(`${century}${digits.slice(0, 6).join('')}`)) return false;
  if (match.length > 13) return true;
  const sum = digits.slice(0, 12).reduce((total, digit, index) => total + digit * ((index % 8) + 2), 0);
  return (11 - (sum % 11)) % 10 === digits[12];
}

/** China's resident identity number: its date and ISO 7064 MOD 11-2. */
export function cnIdOk(match: string): boolean {
  if (!dateOk(match.slice(6, 14))) return false;
  const sum = digitsOf(match.slice(0, 17)).reduce((total, digit, index) => total + digit * (2 ** (17 - index) % 11), 0);
  return '10X98765432'[sum % 11] === match[17]!.toUpperCase();
}

/** Letters and digits of an IBAN by its country (ISO 13616). */
const ibanLengths =
  'AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SC31SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20';

/** Characters of an IBAN at the beginning of the match; 0 where there is none. What follows it may look like one more group. */
export function ibanLength(match: string): number {
  const country = ibanLengths.indexOf(match.slice(0, 2).toUpperCase());
  if (country < 0) return 0;
  const length = +ibanLengths.slice(country + 2, country + 4);
  let end = 0;
  for (let left = length; left && end < match.length; end++) if (!/[ -]/.test(match[end]!)) left -= 1;
  const iban = match.slice(0, end).replace(/[ -]/g, '').toUpperCase();
  const ends = end === match.length || /[ -]/.test(match[end]!);
  return ends && iban.length === length && mod97(iban.slice(4) + iban.slice(0, 4)) === 1 ? end : 0;
}

/** Eight groups, or fewer around one `::` with at least three of them: `::1` and `a::b` are other things as well. */
export function isIpv6(match: string): boolean {
  const halves = match.split('::');
  const groups = match.split(':').filter((group) => group);
  if (!groups.every((group) => group.length <= 4)) return false;
  if (halves.length === 1) return groups.length === 8 && match.split(':').length === 8;
  return halves.length === 2 && groups.length >= 3 && groups.length <= 7 && !/^:[^:]|[^:]:$/.test(match);
}

/** Whether a date written as YYYYMMDD exists. */
function dateOk(date: string): boolean {
  const [year, month, day] = [+date.slice(0, 4), +date.slice(4, 6), +date.slice(6, 8)];
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function mod97(text: string): number {
  let rest = 0;
  for (const char of text) {
    const value = Number.parseInt(char, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest;
}

function digitsOf(text: string): readonly number[] {
  return Array.from(text.replace(/\D/g, ''), Number);
}
