import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { InputStage } from '../input/input-stage.ts';
import { mapTexts, textsOf } from '../input/message-texts.ts';
import type { Finding, OutputRule } from '../output/output-rule.ts';
import { piiFinders, type PiiFinder, type PiiKind } from './pii-kinds.ts';
import { replaceFindings } from '../output/replace-findings.ts';
import { sha256 } from '../../memory/log/integrity/sha256.ts';
import { withoutDisguise } from '../input/undisguised.ts';

export interface MaskPiiOptions {
  /** Kinds of data to find. Default: all except `ip`, `mac` and `url`. */
  readonly kinds?: readonly PiiKind[];
  /**
   * What happens to personal data. `redact` (default) replaces the data with its kind: `[EMAIL]`.
   * `mask` shows the last four letters and digits, or a part of an e-mail or IP address. For an
   * e-mail address, this part is the first letter and the domain. For an IP address, it is the
   * first group. `hash` writes `[EMAIL:0f3a…]`, the same text for equal values. `block` rejects the
   * whole text.
   */
  readonly strategy?: 'block' | 'redact' | 'mask' | 'hash';
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
 * checks replies. As a stage of `inputGuards`, it checks user input before anything is stored.
 * Names and postal addresses are not found, because they have no fixed form. Data is also found if
 * it has fullwidth digits or invisible characters.
 */
export function maskPii(
  options: MaskPiiOptions = {},
): InputStage & Required<Pick<OutputRule, 'find'>> {
  return piiRule('maskPii()', options);
}

/** Works as `maskPii`. Errors name the function `where`. */
export function piiRule(
  where: string,
  options: MaskPiiOptions,
): InputStage & Required<Pick<OutputRule, 'find'>> {
  checkFields(
    'CONFIGURATION',
    where,
    options,
    'kinds:array|? strategy:block|redact|mask|hash|? salt:string|?',
  );
  const known = piiFinders();
  const {
    kinds = known.flatMap(({ kind }) => (/^(ip|mac|url)$/.test(kind) ? [] : [kind])),
    strategy = 'redact',
    salt = '',
  } = options;
  const unknown = kinds.find((kind) => !known.some((finder) => finder.kind === kind));
  if (unknown !== undefined)
    throw new AgentError('CONFIGURATION', `${where}: there is no kind ${JSON.stringify(unknown)}.`);
  const digest = sha256();
  const hashed = (value: string): string => digest(salt + value).slice(0, 16);
  const finders = known.filter(({ kind }) => kinds.includes(kind));
  const searchesAll = finders.some(({ needs }) => !needs);

  const find = (text: string): readonly Finding[] => {
    if (!searchesAll && !mayHave.test(text)) return [];
    const plain = withoutDisguise(text);
    return apart(matchesIn(plain.text, finders)).map(({ kind, start, end }): Finding => {
      const place = { start: plain.at(start), end: plain.at(end - 1) + 1 };
      if (strategy === 'block') return { ...place, reject: 'OUTPUT_REJECTED' };
      return {
        ...place,
        replacement: replacementOf(kind, plain.text.slice(start, end), strategy, hashed),
      };
    });
  };
  return {
    name: 'maskPii',
    find,
    check(input) {
      if (strategy === 'block')
        return textsOf(input).some((text) => find(text).length)
          ? { category: 'INVALID_INPUT' }
          : input;
      return mapTexts(input, (text) => replaceFindings(text, find(text)));
    },
  };
}

interface Match {
  readonly kind: PiiKind;
  readonly start: number;
  end: number;
}

/**
 * Characters that finders with `needs` look for. These finders cannot match a text without them.
 */
const mayHave = /[\d@:\uff10-\uff1a\uff20]/;

function matchesIn(text: string, finders: readonly PiiFinder[]): Match[] {
  const found: Match[] = [];
  const has = { '@': text.includes('@'), ':': text.includes(':'), digit: /\d/.test(text) };
  for (const { kind, pattern, needs, accept } of finders) {
    if (needs && !has[needs]) continue;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      const length = accept ? accept(match[0]) : match[0].length;
      if (length) found.push({ kind, start: match.index, end: match.index + length });
      // The characters after the start of a rejected match may contain a valid match.
      pattern.lastIndex = match.index + (length || 1);
    }
  }
  return found;
}

/**
 * Sorts the matches and merges overlapping matches. A merged match has the kind of its first part.
 */
function apart(matches: Match[]): readonly Match[] {
  const found: Match[] = [];
  for (const match of matches.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = found.at(-1);
    if (last && match.start < last.end) last.end = Math.max(last.end, match.end);
    else found.push(match);
  }
  return found;
}

function replacementOf(
  kind: PiiKind,
  value: string,
  strategy: 'redact' | 'mask' | 'hash',
  hashed: (value: string) => string,
): string {
  const label = kind.toUpperCase();
  if (strategy === 'redact') return `[${label}]`;
  if (strategy === 'hash')
    return `[${label}:${hashed(kind + value.toLowerCase().replace(/[ ().-]/g, ''))}]`;
  if (kind === 'email') return `${value[0]}***${value.slice(value.indexOf('@'))}`;
  if (kind === 'ip') return value.replace(/[\da-f]+/gi, (group, at: number) => (at ? '*' : group));
  const shown = value.search(/(?:[a-z\d][^a-z\d]*){4}$/i);
  return value.slice(0, shown).replace(/[a-z\d]/gi, '*') + value.slice(shown);
}
