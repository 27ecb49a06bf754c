import { expect, test } from 'vitest';
import held from '@test/fixtures/tokens/held.jsonl?raw';
import train from '@test/fixtures/tokens/train.jsonl?raw';
import { extent } from '@test/test-extent.ts';
import { replaceFindings } from '../../output/apply-rule.ts';
import { ordinarySentences } from '@test/support/ordinary-sentences.ts';
import { piiRule } from '../pii-rule.ts';
import type { PiiKind } from '../pii-kinds.ts';

const all: readonly PiiKind[] = ['email', 'phone', 'card', 'iban', 'rrn', 'cn-id', 'ssn', 'ip'];
const rule = piiRule({ kinds: all });
const masked = (text: string): string => replaceFindings(text, [...rule.find(text)]);

test.each<readonly [string, string]>([
  ['Write to "ann lee"@example.com.', 'Write to [EMAIL].'],
  ['Write to ann (at) example.com.', 'Write to [EMAIL].'],
  ['Write to ann [at] example [dot] com!', 'Write to [EMAIL]!'],
  ['Write to ann{at}mail(dot)example.co.uk', 'Write to [EMAIL]'],
  ['ann.lee+x (AT) example (DOT) com', '[EMAIL]'],
  ['Write to ann@[10.0.0.1]', 'Write to [EMAIL]'],
  ['Write to ann@[IPv6:2001:db8::1] now', 'Write to [EMAIL] now'],
  ['Write to ann @ example.com', 'Write to [EMAIL]'],
  ['Write to ann@ example.com, please', 'Write to [EMAIL], please'],
  ['Write to ann @example.com', 'Write to [EMAIL]'],
  ['ann.lee @example.com', '[EMAIL]'],
  ['메일: ann @example.com', '메일: [EMAIL]'],
  ['sales @ example.com', '[EMAIL]'],
  ['?mail=ann%40example.com&x=1', '?mail=[EMAIL]&x=1'],
  ['ann%40example%2Ecom', '[EMAIL]'],
  ['ann&#64;example.com', '[EMAIL]'],
  ['ann&#x40;example&#46;com', '[EMAIL]'],
  ['ann&commat;example&period;com', '[EMAIL]'],
  ['<b>4111</b><b>1111</b> 1111 <i>1111</i>', '<b>[CARD]</i>'],
  ['4111<span class="x">1111</span>11111111', '[CARD]'],
  ['His SSN is 123 45 6789.', 'His SSN is [SSN].'],
  ['SSN: 123456789', 'SSN: [SSN]'],
  ['My social security number is 123456789', 'My social security number is [SSN]'],
  ['at 192。168。0。1', 'at [IP]'],
  ['http://3232235777/admin', 'http://[IP]/admin'],
  ['http://0xC0A80001/', 'http://[IP]/'],
  ['IP: 3232235777', 'IP: [IP]'],
])('piiRule() masks %j', (text, expected) => {
  expect(masked(text)).toBe(expected);
});

test.each([
  'thanks @john.doe for the review',
  'see @angular/core and @types/node',
  'We meet @ the café. Come along!',
  'Find us @ example.com or call.',
  'Live @ twitch.com tonight',
  'We booked via @booking.com last week',
  'Thanks @booking.com and @bob.io',
  'more info (at) www.example.com',
  'look (at) example.com',
  '请看(at)example.cn',
  '更多信息 @ example.cn',
  'image@2x.png and icon@3x.webp',
  'Social security pays 123456789 dollars',
  'IP: 20240115, see //99999999 and TCP/IP 3232235777',
  'look (at the corner) first',
  'look (at) this dot com bubble',
  'look (at) main.rs and README.md',
  '请查看（at）第258行的main.rs。',
  'the function f(at) returns example.com',
  '100%40 of them',
  'order 123456789 has shipped',
  'from 0xC0A80001 to 0xC0A8FFFF',
  'on 3232235777 occasions',
  '<td>4111</td><td>1111</td><td>1111</td><td>1111</td>',
  'room 101 22 1999',
])('piiRule() leaves %j alone', (text) => {
  expect(masked(text)).toBe(text);
});

/** Without phones: other numbers of the templates may be phone numbers, as before. */
const measured: readonly PiiKind[] = ['email', 'card', 'iban', 'rrn', 'cn-id', 'ssn', 'ip'];
const check = piiRule({ kinds: measured });

test.each(['English', 'Chinese', 'Japanese', 'Korean'] as const)(
  'at most one of 10,000 ordinary sentences in %s is masked',
  (name) => {
    const count = extent({ quick: 10_000, full: 200_000 });
    const texts = ordinarySentences(name, { count, seed: 7 });
    const wrong = texts.filter((text) => [...check.find(text)].length);
    expect(wrong.length, wrong.slice(0, 5).join('\n')).toBeLessThanOrEqual(count / 10_000);
  },
);

test('written texts of the token corpus are masked only where they have an address', () => {
  const lines = `${train}\n${held}`.split('\n').filter(Boolean);
  const texts = lines.map((line) => (JSON.parse(line) as { readonly t: string }).t);
  const sentences = texts.flatMap((text) => text.split(/(?<=[.!?。！？])\s*|\n/));
  const wrong = sentences.filter((text) => [...check.find(text)].length && !/\S@\S/.test(text));
  expect(sentences.length).toBeGreaterThan(10_000);
  expect(wrong.length, wrong.slice(0, 5).join('\n')).toBeLessThanOrEqual(sentences.length / 10_000);
});
