import { expect, test } from 'vitest';
import { extent } from '@test/test-extent.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { decodeWeight } from './fitted-profile.ts';
import {
  cl100k,
  claude3,
  claude5,
  deepseek3,
  gemma3,
  generic,
  llama3,
  mistral,
  o200k,
  qwen3,
} from './profiles.ts';

const families = [
  o200k,
  cl100k,
  qwen3,
  llama3,
  deepseek3,
  gemma3,
  mistral,
  claude3,
  claude5,
] as const;
const all = [...families, generic];

/**
 * Texts of the corpus that the profiles were not fitted to, with the token counts of the families'
 * own tokenizers.
 */
const held: readonly (readonly [text: string, tokens: readonly number[]])[] = [
  [
    "But beyond the technical aspects, there's something more critical: trust and long-term maintenance. I have been active in open source for over a decade, and I'm committed to keeping Chalk maintained.",
    [37, 40, 40, 40, 40, 42, 40, 41, 60],
  ],
  [
    '파일 소스: %{name}\n%{complete} / %{smart_count} 완료됨\n파일 수정을 완료하세요.\n%{folder}에서 파일 %{smart_count}개 추가\n썸네일 생성 중...\n가져오기\n%{name}에서 가져오기\n불러오는 중...\n로그아웃\n내 기기\n파일이나 폴더가 없음',
    [77, 99, 86, 81, 95, 83, 89, 123, 126],
  ],
  [
    'リンクをクリップボードにコピーしました\nアップロードの準備をしています...\nTransloadit: アセンブリを作成できませんでした\nファイルアップローダー\nファイルアップローダーウィンドウ（閉じるにはEscapeキーを押してください）\n%{total} %{complete}\n完了しました\nここにファイルをドロップしてください',
    [81, 122, 76, 84, 88, 64, 91, 117, 120],
  ],
  [
    '-   `otherOperationCount` Number - 其他I/O操作的数量.\n-   `readTransferCount` Number - I/O读取传送的数量.\n-   `writeTransferCount` Number - I/O写入传送的数量.\n-   `otherTransferCount` Number - 其他I/O传送的数量.',
    [70, 73, 66, 69, 62, 67, 74, 91, 104],
  ],
  [
    '又新增 %{smart_count} 個檔案\n還剩下 %{time}\n您只能上傳這些檔案類型：%{types}\n您只能上傳 %{smart_count} 個檔案\n您至少要選擇 %{smart_count} 個檔案',
    [60, 83, 53, 59, 53, 55, 72, 84, 86],
  ],
  [
    'Die Methode "{0}" der exportierten Schnittstelle besitzt oder verwendet den privaten Namen "{1}".',
    [19, 25, 25, 25, 24, 19, 19, 29, 44],
  ],
  [
    '### События экземпляра\n\nObjects created with `new Notification` emit the following events:\n\n**Примечание:** Некоторые методы доступны только в определенных операционных системах и помечены как таковые.',
    [43, 59, 54, 53, 47, 41, 48, 57, 62],
  ],
  [
    'على كل فرد واجبات نحو المجتمع الذي يتاح فيه وحده لشخصيته أن تنمو نموا حرا كاملا.\n\nيخضع الفرد في ممارسته حقوقه لتلك القيود التي يقررها القانون فقط، لضمان الاعتراف بحقوق الغير وحرياته واحترامها ولتحقيق المقتضيات العادلة للنظام',
    [73, 155, 87, 83, 85, 75, 70, 143, 143],
  ],
  [
    'เพิ่ม %{smart_count} ไฟล์จาก %{folder}\nเพิ่ม %{smart_count} ไฟล์จาก %{folder}\nกำลังสร้างภาพขนาดย่อ...\nนำเข้า\nนำเข้าจาก %{name}\nไฟล์นี้มีขนาดเล็กกว่าขนาดไฟล์ที่กำหนด %{size}\nกำลังโหลด...\nออกจากระบบ',
    [71, 140, 84, 76, 72, 69, 97, 160, 164],
  ],
  [
    'import type { FormatDistanceFn } from "../../types.ts";\nexport declare const formatDistance:',
    [18, 18, 18, 18, 18, 20, 18, 24, 33],
  ],
  [
    'ouJFIXXIAe4kZDbGWpT4EsGPL0lpHxA+JSG8CqIlq2drHAIz9/PB87rLU1wD2RudetvY9gJ1zLlsJ4NW/Zet4PHbaSvkIAngr0W2Px1OVJQI4oL5stVvgQRBAs7kG8RxqfiCAdurbGol4RABudtsaPkMgAHeJzg9L8YQA3qHN/ybaIoAzI4B30An5p3h',
    [126, 134, 136, 134, 131, 131, 138, 160, 178],
  ],
  [
    '- `📍 48.858844, 2.294351 ±12m`\n  - `📍 Eiffel Tower — Champ de Mars, Paris (48.858844, 2.294351 ±12m)`\n  - `🛰 Live location: 48.858844, 2.294351 ±12m`',
    [70, 73, 100, 72, 72, 99, 107, 86, 95],
  ],
];

test.for(held)('each family counts %s with an error of less than a quarter', ([text, tokens]) => {
  const errors = families.map((profile, i) => estimateTokens(text, profile) / tokens[i]! - 1);
  for (const [i, error] of errors.entries())
    expect(Math.abs(error), families[i]!.name).toBeLessThan(0.25);
});

test('claude5 counts at least 1.4 times as many tokens as o200k, and cl100k at least 1.2 times as many', () => {
  const text = held.map(([sample]) => sample).join('\n');
  expect(estimateTokens(text, claude5)).toBeGreaterThan(1.4 * estimateTokens(text, o200k));
  expect(estimateTokens(text, cl100k)).toBeGreaterThan(1.2 * estimateTokens(text, o200k));
});

test.for(all)(
  '$name: an empty text has no tokens, and any other text has at least one',
  (profile) => {
    expect(estimateTokens('', profile)).toBe(0);
    for (const text of [' ', 'a', '.', '\n', '\u0000', '\ud800', '\udc00', '한']) {
      expect(profile.countText(text)).toBeGreaterThanOrEqual(1);
      expect(Number.isInteger(estimateTokens(text, profile))).toBe(true);
    }
  },
);

test('single Korean letters, as people use them in chats, have their own weight', () => {
  const tokens = [1.6, 2.7, 1.5, 1.4, 2.3, 1, 3.4, 4.4, 4.4];
  for (const [i, { name, countText }] of families.entries()) {
    for (const text of ['ㅋㅋ', 'ㅠㅠㅠ', 'ㅎ'.repeat(10)]) {
      expect(Math.abs(countText(text) / text.length - tokens[i]!), name).toBeLessThan(0.05);
    }
  }
});

test.for(all)(
  '$name: a lone surrogate counts as one character and does not hide its neighbors',
  ({ countText }) => {
    expect(countText('\ud83d\ud83d')).toBeLessThanOrEqual(2 * countText('\ud83d'));
    expect(countText('\ud83d안녕하세요')).toBeGreaterThan(countText('안녕하세요'));
    expect(countText('\ud83da b c d')).toBeGreaterThan(countText('a b c d'));
    expect(countText('안녕하세요 \ud83d')).toBeGreaterThan(countText('안녕하세요'));
  },
);

test('the count of a long text is proportional to its length', () => {
  const { countText } = generic;
  for (const part of [
    '안녕하세요, 세계! Hello, world 123.\n',
    '\u0000\u001b\ud800 ',
    'iVBORw0KGgoAAAANSUhEUgAAB9oAAAaQCAIAAAB+ ',
  ]) {
    const times = Math.ceil(extent({ quick: 1e6, full: 1e7 }) / part.length);
    const [one, many] = [countText(part.repeat(100)) / 100, countText(part.repeat(times)) / times];
    expect(Math.abs(many / one - 1)).toBeLessThan(0.01);
  }
});

test.for(all)('$name: a longer text always counts more', ({ countText }) => {
  let [said, before] = ['', 0];
  for (const [text] of held) {
    said += `${text}\n`;
    const now = countText(said);
    expect(now).toBeGreaterThan(before);
    before = now;
  }
});

test('decodeWeight() reads a weight from a printable character, in finer steps near 0', () => {
  expect([...'RrstQ'].map((character) => decodeWeight(character).toFixed(3))).toEqual([
    '-1.433',
    '-0.001',
    '0.000',
    '0.001',
    '4.426',
  ]);
});
