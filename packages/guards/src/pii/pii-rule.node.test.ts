import { expect, inject, test } from 'vitest';
import { regExpWork } from '@test/support/regexp-work.ts';
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

function mask(text: string): string {
  return replaceFindings(text, piiRule({ kinds }).find(text) as never);
}

test.each([...plain, ...disguised])(
  'the searches of piiRule() in a text of many %j take work in proportion to its length',
  (unit) => {
    const [short, long] = [500, 2_000].map((length) =>
      regExpWork(() => mask(unit.repeat(length / unit.length)), 64),
    );
    expect(long!.searches).toBeLessThan(5 * short!.searches);
    expect(long!.characters).toBeLessThan(5 * short!.characters);
    expect(long!.excesses).toEqual([]);
  },
);

// V8 has no space for the backtracks of some patterns in long texts.
test.each(inject('long') ? [...plain, ...disguised] : [])(
  'piiRule() masks a million characters of %j',
  (unit) => {
    expect(mask(unit.repeat(1_000_000 / unit.length))).not.toBe('');
  },
);
