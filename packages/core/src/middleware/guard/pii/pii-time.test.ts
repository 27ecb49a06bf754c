import { expect, test } from 'vitest';
import { replaceFindings } from '../output/apply-rule.ts';
import { piiRule } from './pii-rule.ts';
import type { PiiKind } from './pii-kinds.ts';

const kinds: readonly PiiKind[] = [
  ...(['email', 'phone', 'card', 'iban', 'rrn', 'cn-id', 'ssn', 'ip', 'mac', 'url'] as const),
];

const plain = [
  '1',
  '1 ',
  '4111 ',
  'DE89 ',
  '1.1.',
  'a',
  'a@',
  'a.',
  'AB12',
  '+1 ',
  '0',
  ':',
  '1\u200b',
  '\u200b',
  '010-',
  'aa:',
  'www.',
  'http://a',
  'http://)(',
  'ann (at) ',
  'a [dot] ',
  '&#64;a.',
  '@ a.',
  '"a"@',
  '%40a.',
  '<b>1</b>',
  '<b 1',
  'ssn 1',
  'ip 1',
  '1。',
];

const disguised = [
  '@',
  'é',
  '٤',
  '٤ ',
  '\u{e0031}',
  '用',
  '用@',
  'a.@',
  '\u0336',
  '１-',
  '4 1',
  '4111, ',
  'ﷺ',
];

test.each([...plain, ...disguised])(
  'piiRule() masks a million characters of %j quickly',
  (unit) => {
    const text = unit.repeat(1_000_000 / unit.length);
    const masked = replaceFindings(text, piiRule({ kinds }).find(text) as never);
    expect(masked.length).toBeGreaterThan(0);
  },
);
