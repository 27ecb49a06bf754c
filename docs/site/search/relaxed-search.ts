/** A page that a search has found, as Pagefind returns it. */
export interface Found {
  /** The same page has the same id in each search. */
  readonly id: string;
  /** How well the page fits, from 0. */
  readonly score: number;
}

/** Answer of a search. Pagefind's has more fields. */
export interface Answer<F extends Found> {
  readonly results: readonly F[];
}

/** Number of pages with all words from which no page with only some of them is added. */
const enough = 5;

/** Longer questions are not searched word by word: each word is a search of its own. */
const maxWords = 12;

/**
 * Searches for pages with all words of a question. If few have them all, adds pages with some of
 * the words. Rare words count more than frequent ones: of pages about "CORS error", those about CORS
 * come first. Pagefind alone finds nothing if one word of a question is not in the documentation.
 */
export async function relaxedSearch<F extends Found, A extends Answer<F>>(
  search: (words: string) => Promise<A>,
  question: string,
): Promise<A> {
  const words = searchWords(question);
  const strict = await search(words.join(' ') || question);
  const isExact = question.includes('"');
  if (isExact || words.length < 2 || words.length > maxWords) return strict;
  const answers = await Promise.all(words.map((word) => search(word)));
  const scores = new Map<string, { found: F; score: number; best: number }>();
  for (const { results } of answers) {
    const rarity = 1 / Math.sqrt(results.length);
    for (const found of results) {
      const part = rarity * Math.sqrt(found.score);
      const known = scores.get(found.id);
      const score = (known?.score ?? 0) + part;
      // The passages of a result are those of one word: the one that counts most.
      if (known && known.best >= part) scores.set(found.id, { ...known, score });
      else scores.set(found.id, { found, score, best: part });
    }
  }
  for (const found of strict.results) {
    const known = scores.get(found.id);
    if (known) scores.set(found.id, { ...known, found });
  }
  const withAll = new Set(strict.results.map(({ id }) => id));
  const ranked = [...scores.values()]
    .filter(({ found }) => withAll.size < enough || withAll.has(found.id))
    .toSorted((a, b) => b.score - a.score);
  return { ...strict, results: ranked.map(({ found }) => found) };
}

/** Returns the words of a question that say what it is about. */
function searchWords(question: string): readonly string[] {
  return question
    .split(/[\s,;:!?…]+/)
    .filter((word) => word !== '' && !common.has(word.toLowerCase()));
}

const common: ReadonlySet<string> = new Set(
  'a an and are at be by can do does for from get has have how i in into is it its me my of on or our so that the their them then there this to us was we what when where which who why will with would you your'.split(
    ' ',
  ),
);
