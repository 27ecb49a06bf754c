import { expect, test } from 'vitest';
import { keywordRerank, mmrRerank, type Rerank } from './rerank.ts';
import type { RetrievedDocument } from '@isoloop/core/message';

const signal = new AbortController().signal;
const order = async (
  rerank: Rerank,
  documents: readonly RetrievedDocument[],
  query = '',
  topK = 10,
): Promise<readonly string[]> =>
  (await rerank(documents, { query, topK, signal })).map(({ content }) => content);

test.each([
  ['opening hours', 'The weather is fine.', 'Opening hours of the library.'],
  ['图书馆开门时间', '今天天气很好。', '图书馆的开门时间是九点。'],
  ['図書館の開館時間', '今日は天気がいい。', '図書館の開館時間は九時です。'],
  ['도서관 여는 시간', '오늘은 날씨가 좋다.', '도서관을 여는 시간은 아홉 시다.'],
])(
  'keywordRerank() with the query %j ranks a matching document above one with a slightly better score',
  async (query, other, expected) => {
    const documents = [
      { content: other, score: 0.8 },
      { content: expected, score: 0.7 },
    ];
    expect(await order(keywordRerank(), documents, query)).toEqual([expected, other]);
    expect(await order(keywordRerank({ weight: 0 }), documents, query)).toEqual([other, expected]);
    expect(await order(keywordRerank(), documents, '')).toEqual([other, expected]);
  },
);

test.each([
  ['The library opens at nine.', 'The library opens at nine!', 'Lend books with a card.'],
  ['图书馆早上九点开门。', '图书馆早上九点开门！', '借书证可以在前台办理。'],
  ['図書館は朝九時に開きます。', '図書館は朝九時に開きますよ。', '貸出カードは受付で作れます。'],
  [
    '도서관은 아침 아홉 시에 문을 엽니다.',
    '도서관은 아침 아홉 시에 문을 열어요.',
    '대출증은 안내 데스크에서 만듭니다.',
  ],
])(
  'mmrRerank() ranks a document that repeats %j below a document with new content',
  async (first, same, other) => {
    const documents = [
      { content: first, score: 0.9 },
      { content: same, score: 0.85 },
      { content: other, score: 0.6 },
    ];
    expect(await order(mmrRerank(), documents)).toEqual([first, other, same]);
    expect(await order(mmrRerank({ lambda: 1 }), documents)).toEqual([first, same, other]);
    expect(await order(mmrRerank(), documents, '', 2)).toEqual([first, other]);
  },
);

test('without scores the position of a document counts, and an empty list stays empty', async () => {
  const documents = ['alpha beta', 'alpha beta', 'gamma delta'].map((content) => ({ content }));
  expect(await order(mmrRerank(), documents)).toEqual(['alpha beta', 'gamma delta', 'alpha beta']);
  expect(await order(keywordRerank(), documents, 'unrelated')).toEqual([
    'alpha beta',
    'alpha beta',
    'gamma delta',
  ]);
  for (const rerank of [mmrRerank(), keywordRerank()])
    expect(await order(rerank, [], 'x')).toEqual([]);
  expect(await order(mmrRerank(), [{ content: '…' }, { content: '!' }])).toEqual(['…', '!']);
});

test.each([NaN, -0.1, 1.1])('keywordRerank() and mmrRerank() reject the weight %j', (share) => {
  expect(() => keywordRerank({ weight: share })).toThrow('weight');
  expect(() => mmrRerank({ lambda: share })).toThrow('lambda');
});

test.each([7, null, 'x'])('keywordRerank() and mmrRerank() reject the options %j', (options) => {
  for (const rerank of [keywordRerank, mmrRerank])
    expect(() => rerank(options as never)).toThrow('must be an object');
});
