import { expect, test } from 'vitest';
import { relaxedSearch, type Found } from '../../docs/site/search/relaxed-search.ts';

/** A search like Pagefind's: a page is found if it has all words. */
function searchIn(pages: Readonly<Record<string, string>>) {
  const asked: string[] = [];
  const search = async (words: string): Promise<{ results: readonly Found[] }> => {
    asked.push(words);
    const has = (text: string): boolean => words.split(' ').every((word) => text.includes(word));
    const found = Object.entries(pages).filter(([, text]) => has(text));
    return { results: found.map(([id]) => ({ id, score: 1 })) };
  };
  return { search, asked };
}

const pages = {
  streaming: 'stop an answer with a button',
  events: 'an answer is a stream',
  agents: 'agents answer',
};

test('a question with a word that no page has finds the pages with its other words, the best first', async () => {
  const { search } = searchIn(pages);
  const { results } = await relaxedSearch(search, 'stop button answer cancel');
  expect(results.map(({ id }) => id)).toEqual(['streaming', 'events', 'agents']);
});

test('common words of a question are not searched', async () => {
  const { search, asked } = searchIn(pages);
  await relaxedSearch(search, 'How do I stop?');
  expect(asked).toEqual(['stop']);
});

test('if enough pages have all words, the others are left out', async () => {
  const many = Object.fromEntries([1, 2, 3, 4, 5].map((id) => [id, 'a stop button']));
  const { search } = searchIn({ ...many, other: 'a button' });
  const { results } = await relaxedSearch(search, 'stop button');
  expect(results.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5']);
});

test('a search with quotes stays as it is', async () => {
  const { search, asked } = searchIn(pages);
  const { results } = await relaxedSearch(search, '"stop an" cancel');
  expect([results, asked]).toEqual([[], ['"stop an" cancel']]);
});

test('only common words are searched as they are', async () => {
  const { search, asked } = searchIn(pages);
  await relaxedSearch(search, 'what is it');
  expect(asked).toEqual(['what is it']);
});

const hints = {
  pages: { cors: ['Answers', 'Why do I get a CORS error?'], core: ['The core'], other: [] },
  abbreviations: { cors: ['cors', 'other'] },
};

/** Like Pagefind, finds "core" for CORS, too. */
const searchAll = async (): Promise<{ results: readonly Found[] }> => ({
  results: [
    { id: 'core', score: 9 },
    { id: 'other', score: 3 },
    { id: 'cors', score: 1 },
    { id: 'zh', score: 0.1 },
  ],
});

test('for an abbreviation, pages with words that only begin like it are left out', async () => {
  const { results } = await relaxedSearch(searchAll, 'CORS', hints);
  expect(results.map(({ id }) => id)).toEqual(['cors', 'other', 'zh']);
});

test.for(['cors error', 'CORS-error'])(
  'for %s, the page with these words in a heading is the first',
  async (question) => {
    const { results } = await relaxedSearch(searchAll, question, hints);
    expect(results.map(({ id }) => id)).toEqual(['cors', 'other', 'core', 'zh']);
  },
);

test('the passages of a page are those with the abbreviation, the best heading first', async () => {
  const passage = (title: string, excerpt: string) => ({ title, excerpt });
  const passages = [
    passage('First', 'the <mark>core</mark>'),
    passage('Second', 'with <mark>CORS</mark>'),
    passage('Why do I get a CORS error?', '<mark>CORS</mark>'),
  ];
  const search = async () => ({
    results: [{ id: 'cors', score: 1, data: async () => ({ sub_results: passages }) }],
  });
  const { results } = await relaxedSearch(search, 'CORS', hints);
  const shown = await results[0]!.data();
  expect(shown.sub_results.map(({ title }) => title)).toEqual([
    'Why do I get a CORS error?',
    'Second',
  ]);
});
