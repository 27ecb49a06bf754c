import { expect, test } from 'vitest';
import { piiRule, type PiiRuleOptions } from './pii-rule.ts';
import type { PiiKind } from './pii-kinds.ts';
import { replaceFindings } from '../output/apply-rule.ts';
import { sha256 } from './sha256.ts';

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
