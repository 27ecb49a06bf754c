import { expect, test } from 'vitest';
import { extent } from '@test/test-extent.ts';
import { checkedRule } from '../../output/checked-rule.ts';
import { replaceFindings } from '../../output/apply-rule.ts';
import { RuleWindow } from '../../output/rule-window.ts';
import { piiRule } from '../pii-rule.ts';
import type { PiiKind } from '../pii-kinds.ts';

const kinds: readonly PiiKind[] = [
  ...(['email', 'phone', 'card', 'iban', 'rrn', 'cn-id', 'ssn', 'ip'] as const),
];
const rule = checkedRule(piiRule({ kinds }), () => {});

/** The characters that `outputGuards` withholds by default. */
const lookahead = 64;

function streamed(chunks: readonly string[]): string {
  const guarded = new RuleWindow(rule, lookahead);
  const pieces = chunks.map((chunk) => guarded.push(chunk, false));
  return pieces.join('') + guarded.push('', true);
}

function chunksOf(text: string, size: number): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

const style = 'style="color: red; background: blue; border: 1px solid green; padding: 4px"';

test.each([
  '"ann lee"@example.com',
  '"ann lee of the long and winding road in the north of now"@example.com',
  'ann (at) example.com',
  'ann [at] example [dot] com',
  'ann{at}mail(dot)example.co.uk',
  'ann [at] a-very-long-label-of-a-domain [dot] another-long-label-of-a-domain [dot] example [dot] com',
  'a.very.long.local.part.of.an.address.that.is.longer.than.the.window.of.the.guard (at) example.com',
  'ann @ a-very-long-label-of-a-domain-that-goes-on-and-on.another-long-label-of-a-domain.example.com',
  'ann@[10.0.0.1]',
  'a.very.long.local.part.of.an.address.that.is.longer.than.the.window.of.the.guard@[IPv6:2001:db8::1]',
  'ann @ example.com',
  'ann@ example.com',
  'ann.lee @example.com',
  'my mail, ann @example.com',
  'ann%40example.com',
  'ann%40a-very-long-label-of-a-domain-that-goes-on.and-another-long-label-of-a-domain.example.com',
  'ann&#64;example.com',
  'ann&#64;a-very-long-label-of-a-domain-that-goes-on.and-another-long-label-of-a-domain.example.com',
  'ann&commat;example&period;com',
  'ann&#x40;example&#46;com',
  '<b>4111</b><b>1111</b> 1111 <i>1111</i>',
  '4111<span class="a-long-class another-long-class a-third-long-class">1111</span>11111111',
  `<span ${style}>4111</span><span ${style}>1111</span> <span ${style}>1111</span>1111`,
  'SSN is 123 45 6789',
  'SSN: 123456789',
  'social security number is 123456789',
  '192。168。0。1',
  'http://3232235777/admin',
  'IP: 3232235777',
  'IP address is 0xC0A80001',
])('a stream masks %j, wherever it is split, and releases none of it', (value) => {
  const text = `${'so it goes. '.repeat(8)}Say ${value}, ok? ${'and then some. '.repeat(8)}`;
  const whole = replaceFindings(text, rule.find!(text) as never);
  expect(whole).not.toBe(text);
  const middle = extent({ quick: 9, full: 2 });
  // Odd, so that the positions differ between blanks and words.
  const stride = extent({ quick: 5, full: 1 });
  for (let at = 1; at < text.length; at += stride) {
    expect(streamed([text.slice(0, at), text.slice(at)])).toBe(whole);
    expect(
      streamed([text.slice(0, at), text.slice(at, at + middle), text.slice(at + middle)]),
    ).toBe(whole);
  }
  for (const size of [1, 2, 3, 7, 16, 30, 50, 64]) {
    expect(streamed(chunksOf(text, size))).toBe(whole);
  }
});

test.each([
  'ann (at) ',
  'ann (at) b',
  ' @ ann',
  '&#64;a.',
  '&',
  '%40 ',
  '<b>',
  '<b>1</b>',
  '<span ',
  `<b ${style}>`,
  '[dot] ',
  '"a b" ',
  'so it goes. ',
])('a stream of many %j withholds little', (unit) => {
  const text = unit.repeat(Math.ceil(extent({ quick: 30_000, full: 100_000 }) / unit.length));
  const guarded = new RuleWindow(rule, lookahead);
  let withheld = 0;
  let most = 0;
  for (const chunk of chunksOf(text, 10)) {
    withheld += chunk.length - guarded.push(chunk, false).length;
    most = Math.max(most, withheld);
  }
  expect(most).toBeLessThan(10_000);
});
