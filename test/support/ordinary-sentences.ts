import { randomOf } from '../random-of.ts';

type Fill = Readonly<Record<string, readonly string[]>>;

interface Language {
  readonly lines: readonly string[];
  readonly fill: Fill;
}

export type LanguageName = 'English' | 'Chinese' | 'Japanese' | 'Korean';

/**
 * Templates of ordinary sentences, and the words that fill them. None has personal data. Many have
 * what looks like it: numbers, product codes, names of users, and `@` or `(at)` for "at".
 */
const languages: Readonly<Record<LanguageName, Language>> = {
  English: {
    lines: [
      'Order {n9} of {n2} items was shipped on {date}.',
      'Thanks {handle}, please look (at) line {n3} of {file}.',
      'Thanks {handle} and {shop} for the {noun}!',
      'Find us @ {site}, or {verb} the {noun} in {place}.',
      'Read more @ {site}.',
      'Live @ {shop2} tonight, then @ {place}.',
      '{verb} me @ the {place} at {time}.',
      'The {noun} is available @ {site} for {price}.',
      'We met at {time} in room {n3} {n2} {n4}.',
      'The price rose from {price} to {price}, that is {n2}%40 of {n3}.',
      'Version {v} of {pkg} needs Node {n2} or later.',
      'Call f(at) or use {pkg} [dot] notation; see {site}.',
      'Run `npm i {pkg}@{v}` in {file}, then commit.',
      'Invoice {n3}-{n2}-{n5}, part number {n3} {n3} {n4}, lot {hex}.',
      'Join us @ the {place} at {time}, thanks @ everybody.',
      'In {year} about {n9} people lived there; see page {n3}.',
      'The address 0x{hex} holds {n10} bytes.',
      'Score {n2}:{n2} after {n3} minutes @ {place}.',
      '<b>{n4}</b> of <i>{n5}</i> users chose <td>{n4}</td><td>{n4}</td>.',
      'Set <i>{n3}</i>, <b>{n3}</b> and <code>{n4}</code>; the sum is <b>{n5}</b><sup>{n1}</sup>.',
      'Was <s>{price}</s>, now <b>{price}</b>: {n2} pcs @ {n1}.{n2} each.',
      'The file {noun}@2x.png is {n6} bytes; `@media` starts at line {n3}.',
      'The entity &#64; is an at sign, and &commat; is its name in {file}.',
      'Social security paid {n9} dollars in {year}.',
      'The IP law of {year} has {n3} pages, patent {n9}.',
      'Ticket {n8} and //{n8}/ are in the log of {date}.',
      '"{noun}"@{lang} is a label in {n2} languages.',
      'She said "{verb} it" @ {time}, e.g. in {place}.etc.',
      'Chapter {n1}.{n1}.{n1} [at] the {noun} {n4}.',
      'Serial {n3}-{n4}-{n4}-{n2}, batch {hex}.',
    ],
    fill: {
      place: ['stadium', 'old harbor', 'café', 'library', 'Room 4b'],
      noun: ['invoice', 'concert', 'icon', 'report', 'garden', 'driver', 'menu'],
      verb: ['Meet', 'Call', 'Join', 'Try', 'Send', 'Open'],
    },
  },
  Chinese: {
    lines: [
      '订单{n9}共{n2}件，于{date}发货。',
      '请查看（at）第{n3}行的{file}。',
      '请看(at){site}上的说明。',
      '更多信息 @ {site}。',
      '感谢 {handle} 和 {shop} 的{noun}！',
      '会议在{time}举行，地点是{n3}室，编号{n3} {n2} {n4}。',
      '价格从{price}涨到{price}，约{n2}%40。',
      '{pkg}的版本{v}需要Node {n2}。感谢 {handle}！',
      '{year}年约有{n9}人居住，见第{n3}页。',
      '比分{n2}：{n2}，地址0x{hex}，大小{n10}字节。',
      '发票{n3}-{n2}-{n5}，零件号{n3} {n3} {n4}。',
      '<b>{n4}</b>个{noun}中有<i>{n5}</i>个，合计<b>{n6}</b>。',
      '我们{time}在{noun}店@大家，好吗？',
      '批次{hex}，序列号{n3}-{n4}-{n4}-{n2}。',
      '知识产权IP案{n9}号，{year}年。',
      '一共{n1}。{n2}天后再来，第{n3}页。',
    ],
    fill: { noun: ['咖啡', '用户', '报告', '花园'] },
  },
  Japanese: {
    lines: [
      '注文{n9}の{n2}点を{date}に発送しました。',
      '{file}の{n3}行目を（at）ご覧ください。',
      '詳しくは @ {site} まで。',
      'お知らせ(at){site}をご覧ください。',
      '{handle}さんと {shop} の{noun}に感謝します。',
      '会議は{time}から{n3}号室、番号{n3} {n2} {n4}です。',
      '価格は{price}から{price}へ、約{n2}%40上がりました。',
      '{pkg}のバージョン{v}はNode {n2}以上が必要です。{handle}さん、ありがとう。',
      '{year}年には約{n9}人が住んでいました。{n3}ページ参照。',
      '結果は{n2}：{n2}、アドレス0x{hex}、{n10}バイト。',
      '請求書{n3}-{n2}-{n5}、部品番号{n3} {n3} {n4}。',
      '<b>{n4}</b>件のうち<i>{n5}</i>件、合計<b>{n6}</b>件です。',
      '{time}に{noun}＠渋谷で会いましょう。',
      'ロット{hex}、シリアル{n3}-{n4}-{n4}-{n2}です。',
      '人気のIP作品{n9}点、{year}年。',
    ],
    fill: { noun: ['カフェ', '報告書', '庭園', 'ライブ'] },
  },
  Korean: {
    lines: [
      '주문 {n9}의 {n2}개를 {date}에 보냈습니다.',
      '{file}의 {n3}번째 줄을 (at) 봐 주세요.',
      '자세한 내용은 @ {site} 참고.',
      '안내(at){site}를 보세요.',
      '{handle}님과 {shop} 의 {noun}에 감사합니다.',
      '회의는 {time}에 {n3}호, 번호 {n3} {n2} {n4}입니다.',
      '가격이 {price}에서 {price}로 약 {n2}%40 올랐습니다.',
      '{pkg} 버전 {v}에는 Node {n2} 이상이 필요합니다. {handle}님 감사합니다.',
      '{year}년에 약 {n9}명이 살았습니다. {n3}쪽 참고.',
      '점수 {n2}:{n2}, 주소 0x{hex}, 크기 {n10}바이트.',
      '송장 {n3}-{n2}-{n5}, 부품 번호 {n3} {n3} {n4}.',
      '<b>{n4}</b>명 중 <i>{n5}</i>명, 합계 <b>{n6}</b>명입니다.',
      '{time}에 {noun} @ 홍대에서 만나요.',
      '로트 {hex}, 일련번호 {n3}-{n4}-{n4}-{n2}.',
      'IP 사업 {n9}건, {year}년.',
    ],
    fill: { noun: ['카페', '보고서', '정원', '공연'] },
  },
};

const common: Fill = {
  handle: ['@john.doe', '@ann_lee', '@dev.team', '@kim', '@bob.io', '@user.github.io'],
  shop: ['@booking.com', '@shop.co', '@ann'],
  shop2: ['twitch.com', 'arena.de', 'club.example.org'],
  file: ['src/index.ts', 'main.rs:42', 'README.md', 'index.de.html'],
  pkg: ['@types/node', 'left-pad', '@angular/core', 'vite'],
  site: ['example.com', 'https://docs.example.org/a?b=1', 'www.example.net', 'shop.example.co.jp'],
  lang: ['en', 'ko-KR', 'zh'],
  year: ['1999', '2024'],
};

/** Returns the sentences of a language, the same ones for the same seed. */
export function ordinarySentences(
  name: LanguageName,
  { count, seed }: { readonly count: number; readonly seed: number },
): readonly string[] {
  const random = randomOf(seed);
  const { lines, fill } = languages[name];
  return Array.from({ length: count }, () => sentence(random, lines, fill));
}

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
