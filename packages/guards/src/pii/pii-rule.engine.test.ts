import { expect, test } from 'vitest';
import { extent } from '@test/test-extent.ts';
import { type ModelDelta, textOf } from '@isoloop/core';
import { randomOf } from '@test/random-of.ts';
import { outputGuards } from '../output/output-guards.ts';
import { replaceFindings } from '../output/apply-rule.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { piiRule, type PiiRuleOptions } from './pii-rule.ts';
import { piiGuard } from './pii-guard.ts';
import type { PiiKind } from './pii-kinds.ts';

const kinds: readonly PiiKind[] = [
  ...(['email', 'phone', 'card', 'iban', 'rrn', 'cn-id', 'ssn', 'ip', 'mac', 'url'] as const),
];
const mask = (text: string, options: PiiRuleOptions = { kinds }): string =>
  replaceFindings(text, piiRule(options).find(text) as never);

const values: readonly (readonly [kind: PiiKind, value: string])[] = [
  ['card', '4111 1111 1111 1111'],
  ['card', '378282246310005'],
  ['email', 'ann.lee@example.test'],
  ['iban', 'DE89 3704 0044 0532 0130 00'],
  ['rrn', '900101-1234568'],
  ['cn-id', '11010519491231002X'],
  ['ssn', '123-45-6789'],
  ['phone', '010-1234-5678'],
];

const spread = (value: string, between: string): string => [...value].join(between);
const tags = (value: string): string =>
  [...value].map((char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0))).join('');
const digitsAt = (value: string, zero: number): string =>
  value.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));

/** Ways to write a value so that a person or a model can still read it. */
const disguises: readonly (readonly [how: string, (value: string) => string])[] = [
  ['zero-width spaces', (value) => spread(value, '\u200b')],
  ['combining grapheme joiners', (value) => spread(value, '\u034f')],
  ['Arabic letter marks', (value) => spread(value, '\u061c')],
  ['Hangul fillers', (value) => spread(value, '\u3164')],
  ['Mongolian variation selectors', (value) => spread(value, '\u180b')],
  ['bidi controls', (value) => `\u202e${spread(value, '\u2066')}\u202c`],
  ['word joiners', (value) => spread(value, '\u2060\u2069')],
  ['variation selectors', (value) => spread(value, '\ufe0f')],
  ['supplementary variation selectors', (value) => spread(value, '\u{e0100}')],
  ['tag characters as noise', (value) => spread(value, '\u{e0041}\u{e007e}')],
  ['musical controls', (value) => spread(value, '\u{1d173}')],
  ['shorthand controls', (value) => spread(value, '\u{1bca0}')],
  ['unassigned invisible characters', (value) => spread(value, '\u{e0fff}\ufff0')],
  ['controls', (value) => spread(value, '\u0000\u007f')],
  ['many invisible characters', (value) => spread(value, '\u200b'.repeat(50))],
  ['combining marks', (value) => spread(value, '\u0336') + '\u0336'],
  ['keycaps', (value) => value.replace(/\d/g, '$&\ufe0f\u20e3')],
  ['tag characters only', tags],
  ['tag characters in part', (value) => value.slice(0, 5) + tags(value.slice(5))],
  [
    'fullwidth forms',
    (value) => value.replace(/[!-~]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0)),
  ],
  ['Arabic-Indic digits', (value) => digitsAt(value, 0x660)],
  ['Persian digits', (value) => digitsAt(value, 0x6f0)],
  ['Devanagari digits', (value) => digitsAt(value, 0x966)],
  ['Bengali digits', (value) => digitsAt(value, 0x9e6)],
  ['Thai digits', (value) => digitsAt(value, 0xe50)],
  ['Osmanya digits', (value) => digitsAt(value, 0x104a0)],
  ['bold digits', (value) => digitsAt(value, 0x1d7ce)],
  ['monospace digits', (value) => digitsAt(value, 0x1d7f6)],
  ['segmented digits', (value) => digitsAt(value, 0x1fbf0)],
  [
    'circled digits',
    (value) =>
      value
        .replace(/[1-9]/g, (digit) => String.fromCodePoint(0x245f + Number(digit)))
        .replaceAll('0', '⓪'),
  ],
  [
    'black circled digits',
    (value) =>
      value
        .replace(/[1-9]/g, (digit) => String.fromCodePoint(0x2775 + Number(digit)))
        .replaceAll('0', '⓿'),
  ],
  [
    'sans-serif circled digits',
    (value) =>
      value
        .replace(/[1-9]/g, (digit) => String.fromCodePoint(0x277f + Number(digit)))
        .replaceAll('0', '🄋'),
  ],
  ['superscripts', (value) => value.replace(/\d/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]!)],
  [
    'special spaces and dashes',
    (value) => value.replaceAll(' ', '\u2007').replaceAll('-', '\u2012'),
  ],
  ['other dashes', (value) => value.replaceAll('-', '\u2e3a')],
  [
    'Cyrillic look-alikes',
    (value) =>
      value.replaceAll('a', 'а').replaceAll('e', 'е').replaceAll('E', 'Е').replaceAll('X', 'Х'),
  ],
  [
    'mathematical letters',
    (value) =>
      value.replace(/[a-z]/g, (char) => String.fromCodePoint(0x1d41a + char.charCodeAt(0) - 97)),
  ],
  [
    'small forms',
    (value) => value.replaceAll('@', '﹫').replaceAll('-', '﹣').replaceAll('.', '﹒'),
  ],
];

test.each(disguises)(
  'piiRule() masks values disguised by %s, and keeps the text around them',
  (_how, disguise) => {
    for (const [kind, value] of values) {
      const before = 'Ｎote é ½ ﬁ: ';
      const masked = mask(`${before}${disguise(value)}, ① “ok” 👍🏽 e\u0301`);
      expect(masked.replace(/\u0336|\u202c|\u202e|\u20e3|\ufe0f/g, '')).toBe(
        `${before}[${kind.toUpperCase()}], ① “ok” 👍🏽 e\u0301`.replace(/[\ufe0f]/g, ''),
      );
    }
  },
);

test('piiRule() recognizes values with any default-ignorable code point between the characters', () => {
  const missed: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const char = String.fromCodePoint(code);
    if (!/\p{Default_Ignorable_Code_Point}/u.test(char)) continue;
    const text = `${spread('4111111111111111', char)} ${spread('ann@example.test', char)}.`;
    if (mask(text) !== '[CARD] [EMAIL].') missed.push(code.toString(16));
  }
  expect(missed).toEqual([]);
});

test.each([
  '4111.1111.1111.1111',
  '4111/1111/1111/1111',
  '4111_1111_1111_1111',
  '4111,1111,1111,1111',
  '4111, 1111, 1111, 1111',
  '4111 - 1111 - 1111 - 1111',
  '4111  1111  1111  1111',
  '4111\n1111\n1111\n1111',
  '4111\t1111\t1111\t1111',
  '4111·1111·1111·1111',
  '4111•1111•1111•1111',
  '4111|1111|1111|1111',
  '4111*1111*1111*1111',
  '4111** **1111** **1111** **1111',
  '4111-1111 1111-1111',
  '4111–1111—1111−1111',
  '41111111 11111111',
  '411111 1111111111',
  '411111-111111-1111',
  '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1',
  '4.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1',
  '41 11 11 11 11 11 11 11',
  '3782.822463.10005',
  '3782/822463/10005',
  '3056 930902 5904',
])('piiRule() masks the card %j', (card) => {
  expect(mask(`Pay with ${card} now.`)).toBe('Pay with [CARD] now.');
});

test.each([
  'Scores: 45 67 89 12 34 56 78 90 11 22 33 44 55 66 77 88 99 10',
  'Digits 4, 0, 7, 3, 1, 9, 2, 8, 5, 6, 4, 0, 7, 3, 1, 9, 2, 8, 5, 6, 4, 0, 7',
  '2024-01-15 12:30:45 2024-01-16 12:30:45 2024-01-17 12:30:46',
  '20240115 20240116 20240117 20240118',
  '1,234,567.89 and 612,345,678,901,234 and 4,111,111,111,111,111',
  '10.0.0.1 10.0.0.2 192.168.100.100 192.168.100.101',
  'GET /a 200 15 1024, GET /b 404 12 2048',
  'Version 100.20.3000.1 of 1.2.3',
  '1900, 1950, 1999, 2020',
  '가격은 10,000원이고 2024년 1월입니다. 😀 ① ② ③ ½',
  'x² + y² = 4, H₂O, ⅷ, 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
  'Привет, мир @ дом. 你好，世界@。 @mention',
])('piiRule() finds nothing in the ordinary text: %s', (text) => {
  expect(mask(text, { kinds: ['email', 'card', 'ssn', 'phone', 'rrn'] })).toBe(text);
});

test.each([
  ['josé@example.com', '[EMAIL]'],
  ['ann@bücher.example', '[EMAIL]'],
  ['иван.петров@пример.рф', '[EMAIL]'],
  ['Пишите: иван@пример.рф, спасибо.', 'Пишите: [EMAIL], спасибо.'],
  ['δοκιμή@παράδειγμα.δοκιμή', '[EMAIL]'],
  ['مثال@مثال.إختبار', '[EMAIL]'],
  ['उदाहरण@उदाहरण.परीक्षा', '[EMAIL]'],
  ['用户@例子.中国', '[EMAIL]'],
  ['请写信到 用户@例子。中国 谢谢', '请写信到 [EMAIL] 谢谢'],
  ['ユーザー@例え.テスト', '[EMAIL]'],
  ['사용자@예시.한국', '[EMAIL]'],
  ['用户@example.com', '[EMAIL]'],
  ['ann@例え.jp', '[EMAIL]'],
  ['ann@xn--r8jz45g.xn--zckzah', '[EMAIL]'],
  ['ann@xn--e1afmkfd.xn--p1ai!', '[EMAIL]!'],
  ['메일은ann@example.test입니다', '메일은[EMAIL]입니다'],
  ['邮箱是123456@qq.com。谢谢', '邮箱是[EMAIL]。谢谢'],
  ['메일은 ann@example.test.감사합니다', '메일은 [EMAIL].감사합니다'],
  [`${'a'.repeat(65)}@example.test`, '[EMAIL]'],
  [`To ${'a.b+c'.repeat(200)}@example.test.`, 'To [EMAIL].'],
  [`ann@${'a.'.repeat(20)}example.test`, '[EMAIL]'],
])('piiRule() masks the e-mail address in %s', (text, masked) => {
  expect(mask(text)).toBe(masked);
});

test.each(['123.45.6789', '123·45·6789', '123-45-6789', '123_45_6789', '123/45/6789'])(
  'piiRule() masks the SSN %s',
  (ssn) => {
    expect(mask(`SSN: ${ssn}.`)).toBe('SSN: [SSN].');
  },
);

test('the strategies `mask` and `hash` use the value without its disguise', () => {
  expect(mask(digitsAt('4111 1111 1111 1111', 0x660), { action: 'mask' })).toBe(
    '**** **** **** 1111',
  );
  expect(mask('иван@пример.рф ann@bücher.example', { action: 'mask' })).toBe(
    'и***@пример.рф a***@bücher.example',
  );
  const hash = (text: string): string => mask(text, { action: 'hash', salt: 's' });
  expect(hash(digitsAt('4111-1111.1111_1111', 0xff10))).toBe(hash('4111111111111111'));
  expect(hash('jose@example.com')).not.toBe(hash('josé@example.com'));
});

const secrets = [
  ...disguises.flatMap(([, disguise]) => values.map(([, value]) => disguise(value))),
  `${'long.local-part+'.repeat(40)}@example.test`,
  `${'й'.repeat(300)}@пример.рф`,
  `ann@${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.test`,
  '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1',
  '用户@例子.中国',
  '123.45.6789',
];

test('a stream gives the same text as masking the whole text, however it is split, and never takes text back', async () => {
  const rule = piiRule();
  const sizes = [1, 3, 17, 64, 1000];
  const sizesOfSecret = extent({ quick: 1, full: sizes.length });
  for (const [index, secret] of secrets.entries()) {
    const next = randomOf(index);
    const text = `Ｗell, é ½: ${'so it goes. '.repeat(8)}${secret}; ${'다음은 ① “끝”. '.repeat(12)}`;
    for (let turn = 0; turn < sizesOfSecret; turn++) {
      const size = sizes[(index + turn) % sizes.length]!;
      const chunks: string[] = [];
      for (let at = 0; at < text.length;) {
        const end = at + 1 + Math.floor(next() * size);
        chunks.push(text.slice(at, end));
        at = end;
      }
      const deltas: ModelDelta[][] = chunks.map((delta) => [{ type: 'text', id: 't', delta }]);
      const { agent } = scriptedAgent(
        [{ deltas: [...deltas, [{ type: 'finish', reason: 'stop' }]] }],
        { use: [outputGuards([rule])] },
      );
      let said = '';
      let resets = 0;
      const run = agent.stream('Hi');
      for await (const event of run) {
        if (event.type === 'reasoning-chunk') said += event.delta;
        if (event.type === 'step-reset') resets += 1;
      }
      expect([said, resets], JSON.stringify(chunks)).toEqual([mask(text, {}), 0]);
      expect((await run.result).text).toBe(mask(text, {}));
    }
  }
});

test('disguised values in the input are masked before the model gets them', async () => {
  for (const [, disguise] of disguises) {
    const { agent, model } = scriptedAgent(['ok'], { use: [piiGuard()] });
    await agent.call(`é ${disguise('ann.lee@example.test')} ½`);
    expect(textOf(model.requests[0]!.messages[0]!)).toContain('[EMAIL]');
    expect(textOf(model.requests[0]!.messages[0]!)).toMatch(/^é .* ½$/u);
  }
});
