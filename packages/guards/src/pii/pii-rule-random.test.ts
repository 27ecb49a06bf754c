import { expect, test } from 'vitest';
import { seeds } from '@test/test-extent.ts';
import { randomOf } from '@test/random-of.ts';
import { piiRule } from './pii-rule.ts';
import { piiFinders, type PiiKind } from './pii-kinds.ts';
import { replaceFindings } from '../output/apply-rule.ts';

const kinds = [...new Set(piiFinders().map(({ kind }) => kind))];

/** Values of every kind, similar values that are invalid, and text that may stand between them. */
const parts = [
  [
    'ann@example.test',
    'a.b+c@mail.example.co.kr',
    '@x',
    'a@b',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '378282246310005',
  ],
  [
    '4111 1111 1111 1111 999',
    '3782 822463 10005',
    '30569309025904',
    '1701251234568',
    'DE89 3704 0044 0532 0130 00',
    'DE89 3704 ',
  ],
  [
    'gb82west12345698765432',
    'GB82 WEST 1234 5698 7654 31',
    '900101-1234568',
    '9001011234568',
    '900230-1234567',
    '040229-3123456',
  ],
  [
    '11010519491231002X',
    '110105194902300025',
    '123-45-6789',
    '000-12-3456',
    '010-1234-5678',
    '01012345678',
    '+49 (30) 1234567',
  ],
  [
    '13812345678',
    '(555) 234-5678',
    '555.234.5678',
    '192.168.0.1',
    '256.1.1.1',
    '2001:db8::ff00:42:8329',
    'a:b:c:d:e:f:1:2',
    '1::2:3',
  ],
  [
    'https://example.test/a(b)',
    'http://',
    'www.x.test',
    '00:1A:2b:3C:4d:5E',
    '00-1a-2b-3c-4d-5e',
    '001a.2b3c.4d5e',
    '00:1A:2B',
  ],
  [
    '０９０ー１２３４ー５６７８',
    '\u200b',
    '\u00ad',
    '\u00a0',
    '\u2011',
    '１',
    '＠',
    'Ａ',
    '한',
    '😀',
    '\ud800',
  ],
  [
    ' ',
    ' ',
    '-',
    '.',
    ',',
    ':',
    '::',
    '@',
    '+',
    '(',
    ')',
    '0',
    '1',
    '4',
    '9',
    '12',
    '1234',
    'x',
    'ab',
    'Z',
    '\n',
    '',
  ],
].flat();

test('piiRule() finds the same as a simple reference implementation in random texts', () => {
  const stage = piiRule({ kinds });
  const found = new Set<string>();
  for (const seed of seeds({ quick: 1000, full: 10_000 })) {
    const next = randomOf(seed);
    const random = (below: number): number => Math.floor(next() * below);
    const text = Array.from({ length: 1 + random(12) }, () => parts[random(parts.length)]!).join(
      '',
    );
    const masked = replaceFindings(text, stage.find(text) as never);
    expect(masked, `seed ${seed}: ${JSON.stringify(text)}`).toBe(straightforward(text));
    for (const [label] of masked.matchAll(/\[[A-Z-]+\]/g)) found.add(label);
  }
  expect(found.size).toBe(kinds.length);
});

/** Matches each pattern against the whole text and applies every check by its definition. */
function straightforward(raw: string): string {
  const seen = Array.from({ length: raw.length }, (_, at) => ({
    at,
    char: plain(raw[at]!),
  })).filter(({ char }) => char);
  const text = seen.map(({ char }) => char).join('');
  const owner: (number | undefined)[] = [];
  const matches: { kind: PiiKind; start: number; end: number }[] = [];
  for (const { kind, pattern, accept } of piiFinders()) {
    for (let from = 0; from <= text.length;) {
      const regex = new RegExp(pattern);
      regex.lastIndex = from;
      const match = regex.exec(text);
      if (!match) break;
      const { index } = match;
      const local = kind === 'email' ? localPart(text.slice(0, index)) : '';
      // Uses the real check of cards, because their digit groups have no simple definition, and of
      // numbers that need a name before them. These checks have their own tests.
      const isReal = kind === 'card' || kind === 'ssn' || pattern.source.includes('0x');
      const length = isReal
        ? realLength(accept?.(match[0], text, index) ?? true, match[0])
        : lengthOf(kind, match[0], pattern.source.includes('00)'));
      const isFound = length > 0 && (local !== '' || kind !== 'email');
      if (isFound) matches.push({ kind, start: index - local.length, end: index + length });
      from = index + (isFound ? length : 1);
    }
  }
  // Merges overlapping ranges. The merged range has the kind of the range that starts first, or of
  // the longest one if several start there.
  matches.sort((a, b) => a.start - b.start || b.end - a.end);
  matches.forEach(({ start, end }, index) => {
    const group = owner[start] ?? index;
    for (let at = start; at < end; at++) owner[at] = group;
  });
  let out = '';
  let next = 0;
  for (let at = 0; at < text.length; at++) {
    const group = owner[at];
    if (group === undefined) continue;
    let end = at;
    while (owner[end + 1] === group) end += 1;
    out += `${raw.slice(next, seen[at]!.at)}[${matches[group]!.kind.toUpperCase()}]`;
    next = seen[end]!.at + 1;
    at = end;
  }
  return out + raw.slice(next);
}

function realLength(accepted: number | boolean, match: string): number {
  return accepted === true ? match.length : Number(accepted);
}

/** Returns the part of an e-mail address before its `@`. */
function localPart(before: string): string {
  const touching = /(?:[\w.%+-]|한)*한-*$/.exec(before);
  return touching ? touching[0].slice(-64) : (/[\w.%+-]*$/.exec(before)?.[0] ?? '');
}

function plain(char: string): string {
  if (/[\uff01-\uff5e]/.test(char)) return char.normalize('NFKC');
  if (/[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/.test(char)) return '';
  if (/[\u2010-\u2015\u2212\u30fc\ufe63]/.test(char)) return '-';
  return /[\u00a0\u2002-\u200a\u202f\u3000]/.test(char) ? ' ' : char;
}

function lengthOf(kind: PiiKind, match: string, isForeign: boolean): number {
  const digits = match.replace(/\D/g, '');
  const exists = (date: string): boolean => {
    const at = new Date(`${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6, 8)}T00:00:00Z`);
    return !Number.isNaN(at.getTime()) && at.toISOString().replaceAll('-', '').startsWith(date);
  };
  switch (kind) {
    case 'iban': {
      for (let end = 15; end <= match.length; end++) {
        const iban = match.slice(0, end).replace(/[ -]/g, '').toUpperCase();
        const size = { DE: 22, GB: 22 }[iban.slice(0, 2)];
        if (iban.length !== size) continue;
        const number = [...(iban.slice(4) + iban.slice(0, 4))]
          .map((char) => Number.parseInt(char, 36))
          .join('');
        return /^(?:[ -]|$)/.test(match.slice(end)) && BigInt(number) % 97n === 1n ? end : 0;
      }
      return 0;
    }
    case 'rrn': {
      const century = { 1: 19, 2: 19, 3: 20, 4: 20, 5: 19, 6: 19, 7: 20, 8: 20 }[digits[6]!]!;
      const sum = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5].reduce(
        (total, weight, at) => total + weight * Number(digits[at]),
        0,
      );
      return exists(`${century}${digits.slice(0, 6)}`) &&
        (match !== digits || (11 - (sum % 11)) % 10 === Number(digits[12]))
        ? match.length
        : 0;
    }
    case 'cn-id': {
      const weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
      const sum = weights.reduce((total, weight, at) => total + weight * Number(match[at]), 0);
      return exists(match.slice(6, 14)) && '10X98765432'[sum % 11] === match[17]!.toUpperCase()
        ? match.length
        : 0;
    }
    case 'phone':
      return !isForeign || (digits.length >= 8 && digits.length <= 15) ? match.length : 0;
    case 'url': {
      const isClosed = (text: string): boolean =>
        text.endsWith(')') && text.split('(').length >= text.split(')').length;
      let text = match;
      while (/[.,;:!?'’”…)\]}*_|]$/.test(text) && !isClosed(text)) text = text.slice(0, -1);
      return text.length;
    }
    case 'ip':
      return !match.includes(':') || isIpv6(match) ? match.length : 0;
    default:
      return match.length;
  }
}

function isIpv6(match: string): boolean {
  const groups = match.split(':').filter((group) => group);
  if (groups.some((group) => group.length > 4) || /^:[^:]|[^:]:$/.test(match)) return false;
  const gaps = match.split('::').length - 1;
  return gaps ? gaps === 1 && groups.length >= 3 && groups.length <= 7 : groups.length === 8;
}
