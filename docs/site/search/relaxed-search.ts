import { noHints, type SearchHints } from './search-hints.ts';

/** A page that a search has found, as Pagefind returns it. */
export interface Found {
  /** The same page has the same id in each search. */
  readonly id: string;
  /** How well the page fits, from 0. */
  readonly score: number;
  /** Reads what the search shows of the page. */
  readonly data?: () => Promise<{ readonly sub_results: readonly Passage[] }>;
}

/** A section of a page. */
interface Passage {
  readonly title: string;
  /** Text as HTML. */
  readonly excerpt: string;
}

/** Answer of a search. Pagefind's has more fields. */
export interface Answer<F extends Found> {
  readonly results: readonly F[];
}

/** Number of pages with all words from which no page with only some of them is added. */
const enough = 5;

/** Longer questions are not searched word by word: each word is a search of its own. */
const maxWords = 12;

/** Number of passages of a page that the search shows. */
const maxPassages = 3;

/**
 * Part of a question that a heading must have, so that its page is shown without the other words.
 */
const mostOfQuestion = 0.55;

/**
 * Searches for pages with all words of a question. If few have them all, adds pages with some of
 * the words. Rare words count more than frequent ones, and words in one heading more than words in
 * the text. Pagefind alone finds nothing if one word of a question is not in the documentation, and
 * finds "core" for CORS, because it compares the beginnings of stems.
 */
export async function relaxedSearch<F extends Found, A extends Answer<F>>(
  search: (words: string) => Promise<A>,
  question: string,
  hints: SearchHints = noHints,
): Promise<A> {
  const words = searchWords(question);
  const found = await search(words.join(' ') || question);
  const isExact = question.includes('"');
  if (isExact || words.length === 0 || words.length > maxWords) return found;
  const strict = words.reduce(
    (results, word) => withWholeWord(results, word, hints),
    found.results,
  );
  const answers = words.length === 1 ? [strict] : await Promise.all(words.map(pagesWith));
  const terms = words.map((word, index) => ({
    word: stemOf(word),
    rarity: answers[index]!.length > 0 ? 1 / Math.sqrt(answers[index]!.length) : 0,
  }));
  const scores = new Map<string, { found: F; score: number; best: number }>();
  answers.forEach((results, index) => {
    for (const each of results) {
      const part = terms[index]!.rarity * Math.sqrt(each.score);
      const known = scores.get(each.id);
      const score = (known?.score ?? 0) + part;
      // The passages of a result are those of one word: the one that counts most.
      if (known && known.best >= part) scores.set(each.id, { ...known, score });
      else scores.set(each.id, { found: each, score, best: part });
    }
  });
  for (const each of strict) {
    const known = scores.get(each.id);
    if (known) scores.set(each.id, { ...known, found: each });
  }
  const withAll = new Set(strict.map(({ id }) => id));
  const ranked = [...scores.values()]
    .map((page) => ({ ...page, ...headingMatch(hints.pages[page.found.id] ?? [], terms) }))
    .filter(({ found: { id }, covered }) => {
      return withAll.size < enough || withAll.has(id) || covered >= mostOfQuestion;
    })
    .toSorted((a, b) => b.score * b.factor - a.score * a.factor);
  return { ...found, results: ranked.map((page) => withBestPassages(page.found)) };

  /** The search shows the first passages: those whose heading has most of the question. */
  function withBestPassages(page: F): F {
    const { data } = page;
    if (!data) return page;
    const read: typeof data = async () => {
      const all = await data();
      const passages = passagesWith(words, all.sub_results, hints)
        .map((passage) => ({ passage, ...headingMatch([passage.title], terms) }))
        .toSorted((a, b) => b.factor - a.factor);
      return { ...all, sub_results: passages.slice(0, maxPassages).map(({ passage }) => passage) };
    };
    return { ...page, data: read };
  }

  async function pagesWith(word: string): Promise<readonly F[]> {
    const { results } = await search(word);
    return withWholeWord(results, word, hints);
  }
}

/** Leaves out pages that have only words that begin like an abbreviation. */
function withWholeWord<F extends Found>(
  results: readonly F[],
  word: string,
  { pages, abbreviations }: SearchHints,
): readonly F[] {
  const ids = abbreviations[word.toLowerCase()];
  if (!ids) return results;
  return results.filter(({ id }) => !(id in pages) || ids.includes(id));
}

/** Leaves out passages without the abbreviations of a question, unless no passage has one. */
function passagesWith(
  words: readonly string[],
  passages: readonly Passage[],
  { abbreviations }: SearchHints,
): readonly Passage[] {
  const short = words.map((word) => word.toLowerCase()).filter((word) => word in abbreviations);
  const having = passages.filter(({ title, excerpt }) => {
    const text = `${title} ${excerpt.replace(/<[^>]+>/g, '')}`.toLowerCase();
    const parts = new Set(text.match(/[\p{L}\p{N}]+/gu));
    return short.every((word) => parts.has(word));
  });
  return having.length > 0 ? having : passages;
}

interface Term {
  readonly word: string;
  readonly rarity: number;
}

/**
 * Returns the part of a question that the best heading of a page has, from 0 to 1, and the factor
 * by which it raises the page.
 */
function headingMatch(
  headings: readonly string[],
  terms: readonly Term[],
): { readonly covered: number; readonly factor: number } {
  const whole = terms.reduce((sum, { rarity }) => sum + rarity, 0);
  let best = { covered: 0, factor: 1 };
  headings.forEach((heading, index) => {
    const words = searchWords(heading).map(stemOf);
    const matched = terms.filter(({ word }) => words.some((each) => isMatch(each, word)));
    const covered = matched.reduce((sum, { rarity }) => sum + rarity, 0) / (whole || 1);
    const precise = matched.length / (words.length || 1);
    const factor = 1 + (index === 0 ? 6 : 4) * covered ** 3 * (0.4 + 0.6 * Math.min(1, precise));
    if (factor > best.factor) best = { covered, factor };
  });
  return best;
}

/** The last word may not be complete yet, because the search runs while the reader types. */
function isMatch(word: string, asked: string): boolean {
  return word === asked || (asked.length > 3 && word.startsWith(asked));
}

function stemOf(word: string): string {
  const small = word.toLowerCase();
  if (small.length > 5) return small.replace(/(?:ing|ed|es|s)$/, '');
  return small.length > 3 ? small.replace(/s$/, '') : small;
}

/** Returns the words of a question that say what it is about. Pagefind keeps the parts of `a-b`. */
function searchWords(question: string): readonly string[] {
  return question
    .split(/[\s,;:!?…()/-]+/)
    .map((word) => word.replace(/^[.'`]+|[.'`]+$/g, ''))
    .filter((word) => word !== '' && !common.has(word.toLowerCase()));
}

const common: ReadonlySet<string> = new Set(
  'a an and are at be by can do does each for from get has have how i in into is it its me my of on or our so that the their them then there this to us was we what when where which who why will with would you your'.split(
    ' ',
  ),
);
