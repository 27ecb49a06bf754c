import { expect, test, vi } from 'vitest';
import { extent } from '@test/test-extent.ts';
import { type AgentError, type JsonObject, MemoryStore } from '@isoloop/core';
import {
  type SearchDocument,
  keywordRetriever,
  type KeywordRetriever,
  type KeywordRetrieverOptions,
} from './keyword-retriever.ts';

const library: readonly SearchDocument[] = [
  { id: 'en-hours', content: 'The library opens at nine in the morning and closes at eight.' },
  { id: 'en-card', content: 'A borrowing card is made at the front desk; bring your passport.' },
  { id: 'en-cafe', content: 'The café on the ground floor sells coffee and sandwiches.' },
  { id: 'zh-hours', content: '图书馆早上九点开门，晚上八点关门，星期一休息。' },
  { id: 'zh-card', content: '借书证可以在前台办理，请带上护照或身份证。' },
  { id: 'zh-cafe', content: '一楼的咖啡厅出售咖啡和三明治。' },
  { id: 'ja-hours', content: '図書館は朝九時に開き、夜八時に閉まります。月曜日は休館日です。' },
  { id: 'ja-card', content: '貸出カードは受付で作れます。パスポートをお持ちください。' },
  { id: 'ja-cafe', content: '一階のカフェではコーヒーとサンドイッチを売っています。' },
  {
    id: 'ko-hours',
    content: '도서관은 아침 아홉 시에 열고 저녁 여덟 시에 닫습니다. 월요일은 쉽니다.',
  },
  { id: 'ko-card', content: '대출증은 안내 데스크에서 만들 수 있습니다. 여권을 가져오세요.' },
  { id: 'ko-cafe', content: '일 층 카페에서는 커피와 샌드위치를 팝니다.' },
  {
    id: 'mixed',
    content:
      '会議室の予約は Microsoft Teams から。회의실 예약은 Teams에서. 会议室请用 Teams 预订。',
  },
];

const idsOf = async (
  retriever: KeywordRetriever,
  query: string,
  filters?: JsonObject,
): Promise<readonly string[]> =>
  (await retriever.retrieve(query, { ...(filters && { filters }) })).map(({ id }) => id ?? '');

test.each([
  ['When does the library open?', 'en-hours'],
  ['How do I get a borrowing card?', 'en-card'],
  ['Where can I buy a sandwich?', 'en-cafe'],
  ['cafe', 'en-cafe'],
  ['图书馆几点开门？', 'zh-hours'],
  ['怎么办理借书证？', 'zh-card'],
  ['哪里可以买到咖啡？', 'zh-cafe'],
  ['図書館は何時に開きますか？', 'ja-hours'],
  ['貸出カードの作り方を教えてください', 'ja-card'],
  ['コーヒーはどこで買えますか', 'ja-cafe'],
  ['ｺｰﾋｰ', 'ja-cafe'],
  ['도서관은 몇 시에 열어요?', 'ko-hours'],
  ['대출증을 어떻게 만들어요?', 'ko-card'],
  ['커피를 어디서 살 수 있나요?', 'ko-cafe'],
  ['Teams で会議室を予約したい', 'mixed'],
  ['teams 회의실', 'mixed'],
  ['用Teams预订会议室', 'mixed'],
])('the query %j finds the document %j first, with a useful score', async (query, expected) => {
  const found = await keywordRetriever(library).retrieve(query);
  expect(found[0]).toMatchObject({
    id: expected,
    content: library.find(({ id }) => id === expected)!.content,
  });
  expect(found[0]!.score).toBeGreaterThan(0.05);
  for (const [index, { score }] of found.entries()) {
    expect(score).toBeGreaterThan(0);
    expect(score).toBeLessThanOrEqual(index ? found[index - 1]!.score! : 1);
  }
});

test.each([
  ['猫', 'ja'],
  ['天気', 'ja'],
  ['ねこ', 'ja2'],
  ['パン', 'ja2'],
  ['ﾊﾟﾝ', 'ja2'],
  ['ュ', 'ja2'],
  ['水', 'zh'],
  [' 水？ ', 'zh'],
  ['门', 'zh'],
  ['地铁', 'zh2'],
  ['茶', 'zh2'],
  ['물', 'ko'],
  ['집', 'ko'],
  ['서울', 'ko2'],
  ['개', 'ko2'],
  ['京都', undefined],
  ['木', undefined],
])('the short query %j finds only the document %s', async (query, id) => {
  const retriever = keywordRetriever([
    { id: 'ja', content: '東京の天気は晴れです。猫が好きです。' },
    { id: 'ja2', content: 'ねこはかわいい。パンとジュース。' },
    { id: 'zh', content: '图书馆早上九点开门，不可以带水。' },
    { id: 'zh2', content: '上海的地铁很方便，茶也好喝。' },
    { id: 'ko', content: '도서관은 아침에 엽니다. 집에서 물을 마셔요.' },
    { id: 'ko2', content: '서울의 지하철은 편리합니다. 개와 산책해요.' },
  ]);
  expect((await retriever.retrieve(query)).map((found) => found.id)).toEqual(id ? [id] : []);
});

test("the score of a document is the share of the query's words that it contains", async () => {
  const retriever = keywordRetriever([
    { id: 'a', content: 'red green' },
    { id: 'b', content: 'blue' },
  ]);
  const scores = async (query: string): Promise<readonly unknown[]> =>
    (await retriever.retrieve(query)).map(({ id, score }) => [id, Math.round(score! * 100) / 100]);
  expect(await scores('red green')).toEqual([['a', 1]]);
  expect(await scores('red purple')).toEqual([['a', 0.5]]);
  expect(await scores('red red purple yellow white')).toEqual([['a', 0.25]]);
  expect(await scores('purple')).toEqual([]);
  expect(await scores('')).toEqual([]);
  expect(retriever.threshold).toBe(0.05);
});

test('retrieve() returns ten documents by default, or up to the limit, with source and metadata', async () => {
  const retriever = keywordRetriever(
    Array.from({ length: 20 }, (_, index) => ({
      id: `d${index}`,
      content: 'tea',
      source: 's.md',
      metadata: { index },
    })),
  );
  expect(await retriever.retrieve('tea')).toHaveLength(10);
  const two = await retriever.retrieve('tea', { topK: 2 });
  expect(two).toEqual(
    two.map(({ id, metadata }) => ({ id, content: 'tea', source: 's.md', metadata, score: 1 })),
  );
  expect(two).toHaveLength(2);
});

test('long documents are found by their chunks', async () => {
  const filler = (word: string): string => `${word}についての説明です。`.repeat(20);
  const content = [filler('会員'), '駐車場は裏手にあります。', filler('施設'), filler('料金')].join(
    '\n\n',
  );
  const retriever = keywordRetriever([{ id: 'guide', content, source: 'guide.md' }], {
    chunks: { maxTokens: 120, overlap: 20 },
  });
  const [best] = await retriever.retrieve('駐車場はどこですか');
  expect(best).toMatchObject({ id: expect.stringMatching(/^guide#\d+$/), source: 'guide.md' });
  expect(best!.content).toContain('駐車場は裏手にあります。');
  expect(best!.content.length).toBeLessThan(content.length / 2);
  await retriever.remove(['guide']);
  expect(await idsOf(retriever, '駐車場')).toEqual([]);
});

test.each([
  [{ lang: 'zh' }, ['b', 'c']],
  [{ lang: ['zh', 'ko'] }, ['a', 'b', 'c']],
  [{ lang: 'zh', public: true }, ['b']],
  [{ tags: 'x' }, ['b', 'c']],
  [{ at: { floor: 1 } }, ['a']],
  [{ none: 'x' }, []],
  [{ toString: 'x' }, []],
  [{ lang: [] }, []],
] as const)('the filters %j are applied', async (filters, expected) => {
  const retriever = keywordRetriever([
    { id: 'a', content: 'tea', metadata: { lang: 'ko', at: { floor: 1 } } },
    { id: 'b', content: 'tea', metadata: { lang: 'zh', public: true, tags: ['x', 'y'] } },
    { id: 'c', content: 'tea', metadata: { lang: ['zh', 'en'], tags: ['x'] } },
    { id: 'd', content: 'tea' },
  ]);
  expect([...(await idsOf(retriever, 'tea', filters as unknown as JsonObject))].toSorted()).toEqual(
    expected,
  );
});

test('documents can be added, replaced and removed', async () => {
  const retriever = keywordRetriever([{ id: 'a', content: 'green tea' }]);
  await retriever.add([
    { id: 'b', content: 'black tea' },
    { id: 'a', content: 'red wine' },
  ]);
  expect(await idsOf(retriever, 'tea')).toEqual(['b']);
  expect(await idsOf(retriever, 'wine')).toEqual(['a']);
  await retriever.remove(['b', 'unknown']);
  expect(await idsOf(retriever, 'tea')).toEqual([]);
  await retriever.clear();
  expect(await idsOf(retriever, 'wine')).toEqual([]);
  await retriever.add([{ id: 'a', content: 'tea again' }]);
  expect(await idsOf(retriever, 'tea')).toEqual(['a']);
});

test('ids that look like chunk ids, and unusual ids, do not collide', async () => {
  const long = 'tea is good. '.repeat(30);
  const retriever = keywordRetriever(
    [
      { id: 'a', content: long },
      { id: 'a#1', content: 'wine' },
      { id: '__proto__', content: 'beer' },
    ],
    { chunks: { maxTokens: 30, overlap: 5 } },
  );
  await retriever.remove(['a']);
  expect(await idsOf(retriever, 'tea')).toEqual([]);
  expect(await idsOf(retriever, 'wine')).toEqual(['a#1']);
  expect(await idsOf(retriever, 'beer')).toEqual(['__proto__']);
});

test('custom stop words replace the default stop words', async () => {
  const retriever = keywordRetriever([{ id: 'a', content: 'tea for two' }], { stopWords: ['tea'] });
  expect(await idsOf(retriever, 'tea')).toEqual([]);
  expect(await idsOf(retriever, 'for')).toEqual(['a']);
});

test('a long query is searched quickly, by its beginning and its end', async () => {
  const retriever = keywordRetriever(library);
  const long = `${'x'.repeat(extent({ quick: 500_000, full: 5_000_000 }))} ${'the '.repeat(extent({ quick: 100_000, full: 1_000_000 }))}`;
  expect((await idsOf(retriever, `${long} borrowing card`))[0]).toBe('en-card');
  expect((await idsOf(retriever, `借书证 ${long}`))[0]).toBe('zh-card');
});

function open({
  maxValueBytes,
  ...options
}: KeywordRetrieverOptions & { readonly maxValueBytes?: number } = {}) {
  const store = new MemoryStore(maxValueBytes ? { maxValueBytes } : {});
  const errors: AgentError[] = [];
  const again = (namespace?: string): KeywordRetriever =>
    keywordRetriever(
      { store, ...(namespace && { namespace }) },
      { now: () => 1, onError: (error) => void errors.push(error), ...options },
    );
  return { store, errors, again };
}

test('another retriever on the same store finds the documents and sees each change', async () => {
  const { again, store } = open();
  const [one, other] = [again(), again()];
  await one.add(library);
  expect((await idsOf(other, '图书馆几点开门'))[0]).toBe('zh-hours');
  await other.add([
    { id: 'zh-hours', content: '现在十点开门。', source: 'news', metadata: { lang: 'zh' } },
  ]);
  await other.remove(['en-hours']);
  expect((await one.retrieve('十点', { filters: { lang: 'zh' } }))[0]).toMatchObject({
    id: 'zh-hours',
    source: 'news',
  });
  expect(await idsOf(one, 'library opens')).toEqual([]);
  expect(await store.keys('')).toHaveLength(library.length - 1);
  await one.clear();
  expect(await store.keys('')).toEqual([]);
  expect(await idsOf(other, 'coffee')).toEqual([]);
});

test('a later search reads only new documents', async () => {
  const { again, store } = open();
  const [one, other] = [again(), again()];
  await one.add(library);
  await other.retrieve('oolong');
  const getMany = vi.spyOn(store, 'getMany');
  await other.retrieve('oolong');
  await one.add([{ id: 'new', content: 'oolong' }]);
  expect(await idsOf(other, 'oolong')).toEqual(['new']);
  expect(getMany.mock.calls.map(([keys]) => keys.length)).toEqual([0, 1]);
});

test('namespaces are separate', async () => {
  const { again } = open();
  await again('a').add([{ id: 'x', content: 'tea a' }]);
  await again('a:b').add([{ id: 'x', content: 'tea b' }]);
  expect((await again('a').retrieve('tea')).map(({ content }) => content)).toEqual(['tea a']);
  await again('a').clear();
  expect((await again('a:b').retrieve('tea')).map(({ content }) => content)).toEqual(['tea b']);
});

test('a document that is larger than one value of the store is split', async () => {
  const { again, store } = open({ maxValueBytes: 200 });
  const content = `${'很长的文件。'.repeat(200)}茶`;
  await again().add([{ id: '文件', content }]);
  expect((await store.keys('')).length).toBeGreaterThan(5);
  expect((await store.keys('')).every((key) => /^[!-~]+$/.test(key))).toBe(true);
  const other = again();
  expect((await idsOf(other, '茶'))[0]).toMatch(/^文件#\d+$/);
  await other.remove(['文件']);
  expect(await store.keys('')).toEqual([]);
});

test('if the store’s listing lags, new documents are found, and removed documents do not reappear', async () => {
  const { again, store } = open();
  const retriever = again();
  await retriever.add([{ id: 'old', content: 'tea old' }]);
  const listed = await store.keys('');
  const keys = vi.spyOn(store, 'keys').mockResolvedValue(listed);
  await retriever.add([
    { id: 'new', content: 'tea new' },
    { id: 'old', content: 'tea renewed' },
  ]);
  expect((await retriever.retrieve('tea')).map(({ content }) => content).toSorted()).toEqual([
    'tea new',
    'tea renewed',
  ]);
  await retriever.remove(['old']);
  expect(await idsOf(retriever, 'tea')).toEqual(['new']);
  keys.mockRestore();
  expect(await idsOf(retriever, 'tea')).toEqual(['new']);
  expect(await store.keys('')).toHaveLength(1);
});

test('an older version of a document that the listing shows late does not replace the newer version', async () => {
  const { again, store } = open();
  await again().add([{ id: 'a', content: 'tea older' }]);
  const listed = await store.keys('');
  const newer = keywordRetriever({ store }, { now: () => 2 });
  const keys = vi.spyOn(store, 'keys').mockResolvedValue([]);
  await newer.add([{ id: 'a', content: 'tea newer' }]);
  keys.mockResolvedValue(listed);
  expect((await newer.retrieve('tea')).map(({ content }) => content)).toEqual(['tea newer']);
  keys.mockRestore();
  expect((await again().retrieve('tea')).map(({ content }) => content)).toEqual(['tea newer']);
});

test('if two retrievers write the same document, the same version wins everywhere', async () => {
  const { again } = open();
  const [one, other] = [again(), again()];
  await Promise.all([
    one.add([{ id: 'a', content: 'tea one' }]),
    other.add([{ id: 'a', content: 'tea other' }]),
  ]);
  const said = await Promise.all(
    [one, other, again()].map(async (each) =>
      (await each.retrieve('tea')).map(({ content }) => content),
    ),
  );
  expect(said[0]).toHaveLength(1);
  expect(said[1]).toEqual(said[0]);
  expect(said[2]).toEqual(said[0]);
});

test('damaged values in the store are reported once and skipped', async () => {
  const { again, errors, store } = open();
  const retriever = again();
  await retriever.add([{ id: 'a', content: 'tea' }]);
  for (const [index, value] of ['{', '7', '{"v":2,"content":"tea"}', '{"v":1}'].entries()) {
    await store.set(`docs:default:d${index}:000000001-x`, value);
  }
  await store.set('docs:default:%zz:000000001-x', 'tea');
  await store.set('docs:default:other', 'tea');
  expect(await idsOf(retriever, 'tea')).toEqual(['a']);
  expect(await idsOf(retriever, 'tea')).toEqual(['a']);
  expect(errors.map(({ code }) => code)).toEqual(Array(4).fill('STORAGE_FAILED'));
});

test('a store that fails rejects, an abort ends the wait, and the next search works', async () => {
  const { again, store } = open();
  const retriever = again();
  await retriever.add([{ id: 'a', content: 'tea' }]);
  vi.spyOn(store, 'keys').mockRejectedValueOnce(new Error('down'));
  await expect(retriever.retrieve('tea')).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: 'down',
  });
  const controller = new AbortController();
  const searching = retriever.retrieve('tea', { signal: controller.signal });
  controller.abort();
  await expect(searching).rejects.toMatchObject({ code: 'ABORTED' });
  await expect(
    keywordRetriever(library).retrieve('x', { signal: controller.signal }),
  ).rejects.toMatchObject({ code: 'ABORTED' });
  expect(await idsOf(retriever, 'tea')).toEqual(['a']);
});

test('keywordRetriever() rejects invalid documents and options', async () => {
  const invalid = expect.objectContaining({ name: 'AgentError', code: 'INVALID_INPUT' });
  const bad: readonly unknown[] = [
    undefined,
    'x',
    {},
    { id: 1, content: 'x' },
    { id: '', content: 'x' },
    { id: 'a' },
    { id: 'a', content: 1 },
  ];
  const retriever = keywordRetriever([]);
  for (const document of bad) {
    expect(() => keywordRetriever([document as SearchDocument])).toThrow(invalid);
    await expect(retriever.add([document as SearchDocument])).rejects.toThrow(invalid);
  }
  await expect(retriever.add('x' as unknown as SearchDocument[])).rejects.toThrow(invalid);
  const configuration = expect.objectContaining({ name: 'AgentError', code: 'CONFIGURATION' });
  for (const source of [undefined, {}, { store: {} }])
    expect(() => keywordRetriever(source as never)).toThrow(configuration);
  for (const options of [null, 7, { chunks: 7 }, { stopWords: 7 }, { onError: 7 }, { now: 7 }]) {
    expect(() => keywordRetriever([], options as never)).toThrow(configuration);
  }
  const { again } = open();
  expect(() => again('n'.repeat(201))).toThrow(invalid);
  await expect(again().add([{ id: '\ud800', content: 'x' }])).rejects.toThrow(invalid);
  await expect(again().add([{ id: 'x'.repeat(500), content: 'x' }])).rejects.toThrow(invalid);
});
