import { AgentError } from '@isoloop/core';
import {
  checkOptions,
  array,
  oneOf,
  optional,
  string,
  type OptionTable,
} from '@isoloop/core/options';
import type { Finding, OutputRule } from '../output/output-rule.ts';
import { piiFinders, type PiiFinder, type PiiKind } from './pii-kinds.ts';
import { sha256 } from './sha256.ts';
import { charBefore, openAddressAt } from './email-address.ts';
import { hasTagBesideDigit, openTagLength, tagLength, withoutMarkup } from './inline-tags.ts';
import { hasTags, isUnseen, type UndisguisedText, withoutDisguise } from '../normalize-text.ts';

/** Which personal data to look for, and what to write in its place. */
export interface PiiRuleOptions {
  /** Kinds of data to find. Default: all except `ip`, `mac` and `url`. */
  readonly kinds?: readonly PiiKind[];
  /**
   * What happens to personal data. `redact` (default) replaces the data with its kind: `[EMAIL]`.
   * `mask` shows the last four letters and digits, or a part of an e-mail or IP address. For an
   * e-mail address, this part is the first letter and the domain. For an IP address, it is the
   * first group. `hash` writes `[EMAIL:0f3a…]`, the same text for equal values. `reject` rejects
   * the whole text.
   */
  readonly action?: 'redact' | 'mask' | 'hash' | 'reject';
  /**
   * Salt for `hash`. Default: empty. Use a secret salt; otherwise anyone can find a number by
   * hashing all possible numbers.
   */
  readonly salt?: string;
}

/**
 * Masks personal data that has a fixed form. The kinds are e-mail addresses, phone numbers, payment
 * cards (Luhn), IBANs (mod 97), and IP, MAC and web addresses. Further kinds are Korean resident
 * numbers, Chinese identity numbers and US social security numbers. As a rule of `outputGuards`, it
 * checks replies. `piiGuard` also applies it to input and tool results. Names and postal addresses
 * are not found, because they have no fixed form. Data is also found behind disguises: digits of
 * other scripts, look-alike letters, and invisible characters. The text around it stays as it was
 * written.
 */
export function piiRule(options: PiiRuleOptions = {}): PiiRule {
  checkOptions('piiRule()', options, piiRuleOptions);
  return piiRuleOf('piiRule()', options);
}

export const piiRuleOptions: OptionTable<PiiRuleOptions> = {
  kinds: optional(array),
  action: optional(oneOf('redact', 'mask', 'hash', 'reject')),
  salt: optional(string),
};

/** A rule of `piiRule()`. */
export interface PiiRule extends OutputRule {
  find(text: string): readonly Finding[];
  withheldFrom(text: string, lookahead: number): number;
}

/** Works as `piiRule`, without a check of the options. Errors name the function `where`. */
export function piiRuleOf(where: string, options: PiiRuleOptions): PiiRule {
  const allFinders = piiFinders();
  const {
    kinds = allFinders.flatMap(({ kind }) => (/^(ip|mac|url)$/.test(kind) ? [] : [kind])),
    action = 'redact',
    salt = '',
  } = options;
  const unknown = kinds.find((kind) => !allFinders.some((finder) => finder.kind === kind));
  if (unknown !== undefined)
    throw new AgentError(
      'CONFIGURATION',
      `${where}: there is no kind ${JSON.stringify(unknown)}. ` +
        `There are: ${[...new Set(allFinders.map(({ kind }) => kind))].join(', ')}.`,
    );
  const digest = sha256();
  const hash = (value: string): string => digest(salt + value).slice(0, 16);
  const finders = allFinders.filter(({ kind }) => kinds.includes(kind));

  const find = (text: string): readonly Finding[] => {
    const readings = [withoutDisguise(text)];
    if (hasTags(text)) readings.push(withoutDisguise(text, true));
    if (hasTagBesideDigit(text)) readings.push(withoutMarkup(text));
    return mergedMatches(readings.flatMap((reading) => matchesIn(reading, finders))).map(
      ({ kind, start, end, value }): Finding =>
        action === 'reject'
          ? { start, end, reject: 'OUTPUT_REJECTED' }
          : { start, end, replacement: substituteFor(kind, value(end), action, hash) },
    );
  };
  return { name: 'piiRule', find, withheldFrom };
}

/** A match with its position in the original text. */
interface Match {
  readonly kind: PiiKind;
  readonly start: number;
  end: number;
  /** Returns the value up to a position in the original text, without disguises. */
  readonly value: (end: number) => string;
}

function matchesIn(reading: UndisguisedText, finders: readonly PiiFinder[]): Match[] {
  const { text, written } = reading;
  const matches: Match[] = [];
  for (const { kind, pattern, accept, lengthBefore } of finders) {
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      const { index } = match;
      const lengthAhead = lengthBefore ? lengthBefore(text, index) : 0;
      const acceptedLength =
        lengthBefore && !lengthAhead ? 0 : (accept?.(match[0], text, index) ?? true);
      const length = acceptedLength === true ? match[0].length : Number(acceptedLength);
      const matchStart = index - lengthAhead;
      if (length)
        matches.push({
          kind,
          start: reading.start(matchStart),
          end: reading.end(index + length - 1),
          value: (end) => {
            let valueEnd = index + length;
            while (valueEnd < text.length && reading.end(valueEnd) <= end) valueEnd += 1;
            return written.slice(matchStart, valueEnd);
          },
        });
      // The characters after the start of a rejected match may contain a valid match.
      pattern.lastIndex = index + (length || 1);
    }
  }
  return matches;
}

/**
 * Most tags that do not count in `withheldFrom`, so that a text of tags is not withheld as a whole.
 */
const maxTags = 40;

/**
 * Returns where the last `lookahead` characters of a streamed text begin, or an address that is not
 * complete yet. Inline tags and characters that are not seen do not count.
 */
function withheldFrom(text: string, lookahead: number): number {
  let from = text.length - openTagLength(text);
  let tagCount = 0;
  for (let visibleChars = 0; from > 0 && visibleChars < lookahead;) {
    const tag = tagCount < maxTags ? tagLength(text, from) : 0;
    const char = charBefore(text, from);
    if (tag > 0) tagCount += 1;
    else if (!isUnseen(char)) visibleChars += 1;
    from -= tag || char.length;
  }
  const reading = withoutDisguise(text);
  const addressStart = openAddressAt(reading.text);
  return addressStart < reading.text.length ? Math.min(from, reading.start(addressStart)) : from;
}

/**
 * Sorts the matches and merges overlapping matches. A merged match has the kind of its first part.
 */
function mergedMatches(matches: Match[]): readonly Match[] {
  const result: Match[] = [];
  for (const match of matches.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1);
    if (last && match.start < last.end) last.end = Math.max(last.end, match.end);
    else result.push(match);
  }
  return result;
}

/** Returns the text in the place of a value. */
function substituteFor(
  kind: PiiKind,
  value: string,
  action: 'redact' | 'mask' | 'hash',
  hash: (value: string) => string,
): string {
  const label = kind.toUpperCase();
  if (action === 'redact') return `[${label}]`;
  if (action === 'hash')
    return `[${label}:${hash(kind + value.toLowerCase().replace(groupingCharacters(kind), ''))}]`;
  if (kind === 'email') return `${[...value][0]}***${value.slice(value.indexOf('@'))}`;
  if (kind === 'ip') return value.replace(/[\da-f]+/gi, (group, at: number) => (at ? '*' : group));
  const visibleFrom = value.search(/(?:[a-z\d][^a-z\d]*){4}$/i);
  return value.slice(0, visibleFrom).replace(/[a-z\d]/gi, '*') + value.slice(visibleFrom);
}

/** Returns the characters that only group a value, so that equal values have equal hashes. */
function groupingCharacters(kind: PiiKind): RegExp {
  return kind === 'card' || kind === 'ssn' ? /\D/g : /[ ().-]/g;
}
