import { expect, test } from 'vitest';
import held from '../../../../../test/fixtures/tokens/held.jsonl?raw';
import train from '../../../../../test/fixtures/tokens/train.jsonl?raw';
import { extent } from '../../../../../test/test-extent.ts';
import { userMessage } from '../../message/create-message.ts';
import { textOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { randomOf } from '../../testing/random-of.ts';
import { maskPii } from './mask-pii.ts';
import type { PiiKind } from './pii-kinds.ts';

const all: readonly PiiKind[] = ['email', 'phone', 'card', 'iban', 'rrn', 'cn-id', 'ssn', 'ip'];
const stage = maskPii({ kinds: all });
const context = { runId: 'r', sessionId: 's', agentPath: [], signal: new AbortController().signal };
const masked = (text: string): string => {
  const judged = stage.check([userMessage(text)], context) as readonly Msg[];
  return textOf(judged[0]!);
};

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
])('maskPii() masks %j', (text, expected) => {
  expect(masked(text)).toBe(expected);
});

test.each([
  'thanks @john.doe for the review',
  'see @angular/core and @types/node',
  'We meet @ the café. Come along!',
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
])('maskPii() leaves %j alone', (text) => {
  expect(masked(text)).toBe(text);
});

type Fill = Readonly<Record<string, readonly string[]>>;

/** Templates of ordinary sentences by language, and the words that fill them. */
const languages: Readonly<
  Record<string, { readonly lines: readonly string[]; readonly fill: Fill }>
> = {
  English: {
    lines: [
      'Order {n9} of {n2} items was shipped on {date}.',
      'Thanks {handle}, please look (at) line {n3} of {file}.',
      'We met at {time} in room {n3} {n2} {n4}.',
      'The price rose from {price} to {price}, that is {n2}%40 of {n3}.',
      'Version {v} of {pkg} needs Node {n2} or later.',
      'Call f(at) or use {pkg} [dot] notation; see {site}.',
      'Invoice {n3}-{n2}-{n5}, part number {n3} {n3} {n4}, lot {hex}.',
      'Join us @ the {place} at {time}, thanks @ everybody.',
      'In {year} about {n9} people lived there; see page {n3}.',
      'The address 0x{hex} holds {n10} bytes.',
      'Score {n2}:{n2} after {n3} minutes @ {place}.',
      '<b>{n4}</b> of <i>{n5}</i> users chose <td>{n4}</td><td>{n4}</td>.',
    ],
    fill: { place: ['stadium', 'old harbor', 'café', 'library'], year: ['1999', '2024'] },
  },
  Chinese: {
    lines: [
      '订单{n9}共{n2}件，于{date}发货。',
      '请查看（at）第{n3}行的{file}。',
      '会议在{time}举行，地点是{n3}室，编号{n3} {n2} {n4}。',
      '价格从{price}涨到{price}，约{n2}%40。',
      '{pkg}的版本{v}需要Node {n2}。感谢 {handle}！',
      '{year}年约有{n9}人居住，见第{n3}页。',
      '比分{n2}：{n2}，地址0x{hex}，大小{n10}字节。',
      '发票{n3}-{n2}-{n5}，零件号{n3} {n3} {n4}。',
    ],
    fill: { year: ['1999', '2024'] },
  },
  Japanese: {
    lines: [
      '注文{n9}の{n2}点を{date}に発送しました。',
      '{file}の{n3}行目を（at）ご覧ください。',
      '会議は{time}から{n3}号室、番号{n3} {n2} {n4}です。',
      '価格は{price}から{price}へ、約{n2}%40上がりました。',
      '{pkg}のバージョン{v}はNode {n2}以上が必要です。{handle}さん、ありがとう。',
      '{year}年には約{n9}人が住んでいました。{n3}ページ参照。',
      '結果は{n2}：{n2}、アドレス0x{hex}、{n10}バイト。',
      '請求書{n3}-{n2}-{n5}、部品番号{n3} {n3} {n4}。',
    ],
    fill: { year: ['1999', '2024'] },
  },
  Korean: {
    lines: [
      '주문 {n9}의 {n2}개를 {date}에 보냈습니다.',
      '{file}의 {n3}번째 줄을 (at) 봐 주세요.',
      '회의는 {time}에 {n3}호, 번호 {n3} {n2} {n4}입니다.',
      '가격이 {price}에서 {price}로 약 {n2}%40 올랐습니다.',
      '{pkg} 버전 {v}에는 Node {n2} 이상이 필요합니다. {handle}님 감사합니다.',
      '{year}년에 약 {n9}명이 살았습니다. {n3}쪽 참고.',
      '점수 {n2}:{n2}, 주소 0x{hex}, 크기 {n10}바이트.',
      '송장 {n3}-{n2}-{n5}, 부품 번호 {n3} {n3} {n4}.',
    ],
    fill: { year: ['1999', '2024'] },
  },
};

const common: Fill = {
  handle: ['@john.doe', '@ann_lee', '@dev.team', '@kim'],
  file: ['src/index.ts', 'main.rs:42', 'README.md'],
  pkg: ['@types/node', 'left-pad', '@angular/core', 'vite'],
  site: ['example.com', 'https://docs.example.org/a?b=1', 'www.example.net'],
};

function sentence(random: () => number, lines: readonly string[], fill: Fill): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const digits = (count: number): string =>
    Array.from(
      { length: count },
      (_, at) => Math.floor(random() * (at ? 10 : 9)) + (at ? 0 : 1),
    ).join('');
  return pick(lines).replace(/\{(\w+)\}/g, (_whole, name: string) => {
    if (/^n\d+$/.test(name)) return digits(Number(name.slice(1)));
    if (name === 'hex') return Math.floor(random() * 0xffffffff).toString(16);
    if (name === 'date') return `2024-0${digits(1)}-1${digits(1)}`;
    if (name === 'time') return `1${digits(1)}:${pick(['00', '15', '30'])}`;
    if (name === 'price') return `$${digits(2)}.${digits(2)}`;
    if (name === 'v') return `${digits(1)}.${digits(2)}.${digits(1)}`;
    return pick(fill[name] ?? common[name]!);
  });
}

/** New forms only: other numbers of the templates may be phone numbers, as before. */
const newKinds: readonly PiiKind[] = ['email', 'ssn', 'ip'];

test.each(Object.entries(languages))(
  'at most one of 10,000 ordinary sentences in %s is masked',
  (_name, { lines, fill }) => {
    const check = maskPii({ kinds: newKinds });
    const random = randomOf(7);
    const count = extent({ quick: 10_000, full: 100_000 });
    const wrong: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const text = sentence(random, lines, fill);
      const judged = check.check([userMessage(text)], context) as readonly Msg[];
      if (textOf(judged[0]!) !== text) wrong.push(text);
    }
    expect(wrong.length, wrong.slice(0, 5).join('\n')).toBeLessThanOrEqual(count / 10_000);
  },
);

test('written texts of the token corpus are masked only where they have an address', () => {
  const check = maskPii({ kinds: newKinds });
  const lines = `${train}\n${held}`.split('\n').filter(Boolean);
  const texts = lines.map((line) => (JSON.parse(line) as { readonly t: string }).t);
  const sentences = texts.flatMap((text) => text.split(/(?<=[.!?。！？])\s*|\n/));
  const wrong = sentences.filter((text) => {
    const judged = check.check([userMessage(text)], context) as readonly Msg[];
    return textOf(judged[0]!) !== text && !/\S@\S/.test(text);
  });
  expect(sentences.length).toBeGreaterThan(10_000);
  expect(wrong.length, wrong.slice(0, 5).join('\n')).toBeLessThanOrEqual(sentences.length / 10_000);
});
