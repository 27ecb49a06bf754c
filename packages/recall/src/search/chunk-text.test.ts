import { expect, test } from 'vitest';
import { estimateTokens } from '@isoloop/core/tokens';
import { chunkText } from './chunk-text.ts';

const paragraphs = {
  en: 'The library opens at nine. It is closed on Sunday, e.g. for cleaning! Version 3.14 is out. "Is that so?" he asked. Nobody knew…',
  zh: '图书馆早上九点开门。星期天不开门！“真的吗？”他问。借书证可以在前台办理。请带上身份证件，办理只需五分钟。',
  ja: '図書館は朝九時に開きます。日曜日は休みです！「本当ですか？」と彼は聞いた。貸出カードは受付で作れます。身分証をお持ちください。',
  ko: '도서관은 아침 아홉 시에 문을 엽니다. 일요일에는 쉽니다! "정말인가요?" 그가 물었다. 대출증은 안내 데스크에서 만들 수 있습니다.',
};

test('chunkText() returns a short text as one chunk and no chunk for an empty text', () => {
  expect(chunkText('  One. Two.\n')).toEqual(['One. Two.']);
  expect(chunkText(' \n')).toEqual([]);
  expect(chunkText('')).toEqual([]);
});

test.each(Object.entries(paragraphs))(
  '%s: chunks contain whole sentences in order and stay within the limit',
  (_language, paragraph) => {
    const text = Array.from({ length: 6 }, (_, index) => `${index}: ${paragraph}`).join('\n\n');
    const chunks = chunkText(text, { maxTokens: 60, overlap: 0 });
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks) {
      expect(estimateTokens(chunk)).toBeLessThanOrEqual(60);
      expect(text).toContain(chunk);
      expect(chunk).toMatch(/[.!?。！？…"”」]$/);
    }
    expect(chunks.join('').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
  },
);

test('a sentence ends after its closing characters, but not inside a number or an abbreviation', () => {
  expect(
    chunkText('One 3.14 two a.b? "Three four!" Five?! Six', { maxTokens: 6, overlap: 0 }),
  ).toEqual(['One 3.14 two a.b?', '"Three four!" Five?!', 'Six']);
  expect(chunkText('他说：“好的。”然后走了。', { maxTokens: 5, overlap: 0 })).toEqual([
    '他说：“好的。”',
    '然后走了。',
  ]);
});

test('paragraphs are kept whole if possible', () => {
  const first = 'One two three four five six seven. Eight nine ten eleven.';
  const second = 'Twelve thirteen. Fourteen fifteen sixteen seventeen.';
  expect(chunkText(`${first}\n\n${second}`, { maxTokens: 22, overlap: 0 })).toEqual([
    first,
    second,
  ]);
});

test('with `overlap`, a chunk begins with the last sentences of the previous chunk', () => {
  for (const text of [paragraphs.en, paragraphs.zh, paragraphs.ja, paragraphs.ko].map((paragraph) =>
    paragraph.repeat(5),
  )) {
    const chunks = chunkText(text, { maxTokens: 60, overlap: 25 });
    expect(chunks.length).toBeGreaterThan(3);
    let from = 0;
    for (const [index, chunk] of chunks.entries()) {
      expect(estimateTokens(chunk)).toBeLessThanOrEqual(60);
      if (index === 0) continue;
      const end = from + chunks[index - 1]!.length;
      const start = text.indexOf(chunk.slice(0, 12), Math.max(from + 1, end - 120));
      expect(start).toBeGreaterThan(from);
      expect(start).toBeLessThan(end);
      from = start;
    }
  }
});

test('a long sentence is cut between words if possible, and never inside a character', () => {
  const words = Array.from({ length: 300 }, (_, index) => `word${index}`).join(' ');
  for (const chunk of chunkText(words, { maxTokens: 40, overlap: 0 }))
    expect(chunk).toMatch(/^word\d+( word\d+)*$/);
  for (const text of [
    '😀'.repeat(500),
    'e\u0301'.repeat(1_000),
    '👩\u200d🚀'.repeat(300),
    'e\u0301\u0323'.repeat(1_000),
    '漢字'.repeat(500),
    'a'.repeat(4_000),
  ]) {
    for (const maxTokens of [40, 41, 43, 45, 50, 55]) {
      const chunks = chunkText(text, { maxTokens, overlap: 0 });
      expect(chunks.length).toBeGreaterThan(5);
      expect(chunks.join('')).toBe(text);
      for (const chunk of chunks) {
        expect(estimateTokens(chunk)).toBeLessThanOrEqual(maxTokens);
        expect(chunk).not.toMatch(/\p{Cs}/u);
        expect(chunk).not.toMatch(/^[\p{M}\u200d]/u);
      }
    }
  }
});

test('chunkText() ends for every text and takes linear time', () => {
  for (const piece of [
    'a',
    '.',
    '\n',
    ' ',
    '. ',
    '"',
    '\n ',
    '好。',
    '."',
    '. "x',
    '\ud83d',
    '?!',
    '」',
  ]) {
    const text = piece.repeat(100_000);
    const chunks = chunkText(text, { maxTokens: 100, overlap: 49 });
    expect(chunks.join('').length).toBeLessThanOrEqual(text.length * 2);
  }
});

test('chunkText() takes linear time for a long run of sentence-ending characters', () => {
  for (const piece of ['.', '?', '…', '"', '."', ' ']) {
    const text = `x.${piece.repeat(200_000)}x`;
    expect(chunkText(text, { maxTokens: 100, overlap: 0 }).join('').length).toBeLessThanOrEqual(
      text.length,
    );
  }
});

test('chunkText() rejects options of another type', () => {
  const configuration = expect.objectContaining({ code: 'CONFIGURATION' });
  for (const options of [null, 7])
    expect(() => chunkText('x', options as never)).toThrow(configuration);
});

test.each([
  { maxTokens: 0 },
  { maxTokens: NaN },
  { overlap: -1 },
  { overlap: NaN },
  { maxTokens: 10, overlap: 5 },
])('chunkText() rejects the options %j', (options) => {
  expect(() => chunkText('x', options)).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});
