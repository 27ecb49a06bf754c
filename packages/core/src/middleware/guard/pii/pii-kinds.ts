import { cardLength, ibanLength, isCnId, isIpv6, isRrn, urlLength } from './pii-checks.ts';
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

type Accept = (match: string, text: string, at: number) => number;

/**
 * Finder of one kind of personal data. Every pattern has bounded counts, so a search takes linear
 * time.
 */
export interface PiiFinder {
  readonly kind: PiiKind;
  readonly pattern: RegExp;
  /**
   * Returns how many characters of the match are personal data, or 0 to reject the match. Default:
   * all characters.
   */
  readonly accept?: Accept;
  /** Returns how many characters before the match belong to it; 0 rejects it. Default: none. */
  readonly before?: (text: string, at: number) => number;
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
      wholeIf(isCnId),
    ),
    finder('rrn', /(?<![\d-])\d{6}[ -]{0,3}[1-8]\d{6}(?![\d-])/g, wholeIf(isRrn)),
    finder('card', /(?<!\d)\d(?:[^\p{L}\p{N}]{0,5}\d){12,18}(?!\d)/gu, cardLength),
    finder(
      'ssn',
      /(?<![\d-]|\d[._/·])(?!000|666|9)\d{3}([-._/·])(?!00)\d{2}\1(?!0000)\d{4}(?!-|[._/·]?\d)/g,
    ),
    // Without hyphens, nine digits have many meanings, so the name has to stand before them.
    finder(
      'ssn',
      /(?<!\d)(?!000|666|9)\d{3} ?(?!00)\d{2} ?(?!0000)\d{4}(?!\d)/g,
      (match, text, at) => (ssnNamed.test(text.slice(Math.max(0, at - 48), at)) ? match.length : 0),
    ),
    finder(
      'phone',
      /(?<![\w+])(?:\+|00)[1-9]\d{0,2}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}(?!\d)/g,
      (match) => (/^(?:\D*\d){8,15}\D*$/.test(match) ? match.length : 0),
    ),
    // The next patterns find numbers of Korea, Japan and other countries with a leading 0, then
    // mobile numbers of China, then numbers of North America.
    finder('phone', /(?<![\d.-])\(?0[1-9]\d{0,2}\)?[ .-]\d{3,4}[ .-]\d{4}(?![ .-]?\d)/g),
    finder('phone', /(?<![\d.-])0(?:1[016-9]\d{7,8}|[789]0\d{8})(?!\d)/g),
    finder('phone', /(?<![\d.-])1[3-9]\d([ -]?)\d{4}\1\d{4}(?![\d-])/g),
    finder('phone', /(?<![\d.-])(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[.-])[2-9]\d{2}[.-]\d{4}(?![\d-])/g),
    {
      kind: 'mac',
      pattern:
        /(?<![\da-f:.-])(?:[\da-f]{2}([:-])(?:[\da-f]{2}\1){4}[\da-f]{2}|(?:[\da-f]{4}\.){2}[\da-f]{4})(?![\da-f]|[:.-][\da-f])/gi,
    },
    {
      kind: 'url',
      // Before folding, punctuation in front of a non-ASCII character was fullwidth. It belongs to
      // the sentence, not to the URL.
      pattern:
        /(?<![a-z\d])(?:(?:https?|ftps?):\/\/(?=[^\s/).,])|www\.(?=[a-z\d]))(?:[^\s<>"`,;:!?()\u3000-\u303f]|[,;:!?()](?=[!-~]|$)){1,4096}/gi,
      accept: urlLength,
    },
    finder(
      'ip',
      /(?<![\d.\u3002])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)[.\u3002]){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?!\d|[.\u3002]\d)/g,
    ),
    finder('ip', /(?<![\w.])(?:0x[\da-f]{7,8}|\d{8,10})(?![\w.]*\w)/gi, (match, text, at) =>
      isIpNumber(match, text.slice(Math.max(0, at - 24), at)) ? match.length : 0,
    ),
    {
      kind: 'ip',

      pattern: /(?<![\w:.])[\da-f]{0,4}:[\da-f:]{2,36}(?![\w:])/gi,
      accept: wholeIf(isIpv6),
    },
  ];
}

function finder(kind: PiiKind, pattern: RegExp, accept?: Accept): PiiFinder {
  return { kind, pattern, ...(accept && { accept }) };
}

function wholeIf(ok: (match: string) => boolean): (match: string) => number {
  return (match) => (ok(match) ? match.length : 0);
}

/** The name of a US social security number at the end of a text. */
const ssnNamed = /(?:\bssn\b|social[ -]security (?:number|no\b|nr\b|#))[^\d\n]{0,24}$/i;

/**
 * Returns whether a number is an IPv4 address: in range, no date, and after `://` or the word `IP`.
 */
function isIpNumber(match: string, before: string): boolean {
  const value = Number(match);
  if (value < 0x1000000 || value > 0xffffffff || /^(?:19|20)\d{6}$/.test(match)) return false;
  return /:\/\/$|(?<![\w/-])ip(?:v4)?(?: address)?(?: is)?[ :=]{1,3}$/i.test(before);
}
