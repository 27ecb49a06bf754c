import { expect, test } from 'vitest';
import { piiRule, type PiiRuleOptions } from './pii-rule.ts';
import { type PiiKind, piiFinders } from './pii-kinds.ts';
import { replaceFindings } from '../output/apply-rule.ts';
import { sha256 } from './sha256.ts';
import { seeds } from '@test/test-extent.ts';
import { randomOf } from '@test/random-of.ts';

const allKinds: readonly PiiKind[] = [
  'email',
  'phone',
  'card',
  'iban',
  'rrn',
  'cn-id',
  'ssn',
  'ip',
  'mac',
  'url',
];

function mask(text: string, options: PiiRuleOptions = { kinds: allKinds }): string {
  return replaceFindings(text, piiRule(options).find(text) as never);
}

test.each([
  ['Write to ann.lee+x@mail.example.co.kr.', 'Write to [EMAIL].'],
  ['메일은ann@example.test입니다', '메일은[EMAIL]입니다'],
  ['<A_B@EXAMPLE.TEST>', '<[EMAIL]>'],
  ['Card 4111 1111 1111 1111, or 4111-1111-1111-1111.', 'Card [CARD], or [CARD].'],
  ['378282246310005 and 3782 822463 10005', '[CARD] and [CARD]'],
  ['30569309025904', '[CARD]'],
  ['No 1234 4111 1111 1111 1111', 'No 1234 [CARD]'],
  ['4111 1111 1111 1111 999', '[CARD] 999'],
  ['Ｃａｒｄ ４１１１１１１１１１１１１１１１', 'Ｃａｒｄ [CARD]'],
  ['4111\u200b1111\u200b1111\u200b1111!', '[CARD]!'],
  ['주민번호 900101-1234568', '주민번호 [RRN]'],
  ['9001011234568', '[RRN]'],
  ['身份证11010519491231002X。', '身份证[CN-ID]。'],
  ['SSN 123-45-6789', 'SSN [SSN]'],
  ['IBAN DE89 3704 0044 0532 0130 00 AND MORE', 'IBAN [IBAN] AND MORE'],
  ['gb82west12345698765432', '[IBAN]'],
  ['전화 010-1234-5678, 02-123-4567', '전화 [PHONE], [PHONE]'],
  ['01012345678', '[PHONE]'],
  ['電話は 03-1234-5678 か ０９０ー１２３４ー５６７８', '電話は [PHONE] か [PHONE]'],
  ['手机13812345678，138-1234-5678', '手机[PHONE]，[PHONE]'],
  ['Call (555) 234-5678 or 555.234.5678 or +1 555 234 5678', 'Call [PHONE] or [PHONE] or [PHONE]'],
  ['+49 (30) 1234567', '[PHONE]'],
  ['+82-10-1234-5678', '[PHONE]'],
  ['From 192.168.0.1:80', 'From [IP]:80'],
  ['Port 00:1A:2b:3C:4d:5E, 00-1a-2b-3c-4d-5e and 001a.2b3c.4d5e.', 'Port [MAC], [MAC] and [MAC].'],
  [
    'See https://ann:secret@example.test:80/a?b=c#d. And (http://x.test/y_(z)).',
    'See [URL]. And ([URL]).',
  ],
  ['주소는www.example.test/길입니다, ftp://x.test', '주소는[URL], [URL]'],
  ['见https://example.test/a，谢谢。', '见[URL]，谢谢。'],
  ['2001:db8::ff00:42:8329 2001:0db8:85a3:0000:0000:8a2e:0370:7334', '[IP] [IP]'],
])('piiRule() masks personal data: %s', (text, masked) => {
  expect(mask(text)).toBe(masked);
});

test.each([
  'Order 4111 1111 1111 1112 is not a card, nor is 0000 0000 0000 0000.',
  'It is 12:30:45 on 2024-01-15, version 1.2.3.4.5 costs 1,234,567.89.',
  'std::vector<int>, a::b, ::1, beef::',
  '110105194913310026 110105194902300025',
  'GB82 WEST 1234 5698 7654 32X, :1:2:3::4 1:2:3::4: 12345::1:2',
  'name@host, @mention, a@b, see user@',
  '900230-1234567 is no date, 991332-1234567 neither.',
  '11010519491331002X 110105194912310020',
  'Timestamp 1701251234568, id 12345678901234567890123.',
  'GB82 WEST 1234 5698 7654 31 is wrong.',
  '000-12-3456 666-12-3456 900-12-3456 123-00-4567 123-45-0000',
  '256.1.1.1 and 1.1.1',
  '00:1A:2B:3C:4D and 00:1A:2B:3C:4D:5E:6F and 00-1A:2B-3C:4D-5E; http:// and www. and awww.example.test',
  'ISBN 978-3-16-148410-0 and page 123-456.',
  '가격은 10,000원이고 2024년 1월입니다.',
])('piiRule() finds nothing in: %s', (text) => {
  expect(mask(text)).toBe(text);
});

test('piiRule() keeps invisible characters around a finding, and merges overlapping findings', () => {
  expect(mask('\u200bann@example.test\u200b!')).toBe('\u200b[EMAIL]\u200b!');
  expect(mask('010-1234-5678@example.test', { kinds: ['email', 'phone'] })).toBe('[EMAIL]');
  expect(mask('+14155550123@example.test', { kinds: ['phone', 'email'] })).toBe('[EMAIL]');
  expect(mask('4111 1111 1111 1111@example.test')).toBe('[CARD]');
});

test('piiRule() keeps lone surrogates and control characters', () => {
  expect(mask('\ud800 \u0000 \udfff')).toBe('\ud800 \u0000 \udfff');
});

test('piiRule() has the strategies mask, redact, hash and block', () => {
  const text = 'ann@example.test 4111 1111 1111 1111 192.168.0.1';
  expect(mask(text, { kinds: allKinds, action: 'mask' })).toBe(
    'a***@example.test **** **** **** 1111 192.*.*.*',
  );
  expect(
    mask('00:1A:2B:3C:4D:5E www.example.test/abc', { kinds: ['mac', 'url'], action: 'mask' }),
  ).toBe('**:**:**:**:4D:5E ***.*******.***t/abc');
  expect(mask('00:1A:2B:3C:4D:5E www.example.test')).toBe('[MAC] [URL]');
  expect(mask('00:1A:2B:3C:4D:5E www.example.test 10.0.0.1', {})).toBe(
    '00:1A:2B:3C:4D:5E www.example.test 10.0.0.1',
  );
  const hashed = mask(text, { action: 'hash', salt: 's' });
  expect(hashed).toMatch(/^\[EMAIL:[\da-f]{16}\] \[CARD:[\da-f]{16}\] 192\.168\.0\.1$/);
  expect(mask('ANN@example.test 4111111111111111 192.168.0.1', { action: 'hash', salt: 's' })).toBe(
    hashed,
  );
  expect(mask(text, { action: 'hash', salt: 't' })).not.toBe(hashed);
  expect(mask(text, { kinds: ['ip'] })).toBe('ann@example.test 4111 1111 1111 1111 [IP]');
  expect([...piiRule({ action: 'reject' }).find('x ann@example.test')]).toEqual([
    { start: 2, end: 18, reject: 'OUTPUT_REJECTED' },
  ]);
});

test('a CONFIGURATION error rejects an invalid option of piiRule()', () => {
  for (const options of [
    { kinds: ['shoe'] },
    { kinds: 'email' },
    { action: 'hide' },
    { salt: 5 },
  ]) {
    expect(() => piiRule(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  }
});

test.each([
  '',
  'abc',
  '한국어 😀',
  'x'.repeat(55),
  'x'.repeat(56),
  'x'.repeat(64),
  'x'.repeat(1000),
])('sha256() returns the same hash of %j as the platform’s SHA-256', async (text) => {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  expect(sha256()(text)).toBe(
    Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join(''),
  );
});

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
