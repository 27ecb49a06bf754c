/** Function that splits a text without spaces into its words. */
export type Segment = (text: string) => readonly string[];

/** The words that a search looks for, in a text and in a query. */
export interface SearchTerms {
  /**
   * Returns the terms by which a text is found. A term appears as often as it occurs in the text.
   */
  ofText(text: string): string[];
  /** Returns the terms to search for. Each term appears once. */
  ofQuery(text: string): string[];
}

/** How texts are split into words. */
export interface SearchTermsOptions {
  /**
   * Segmenter for texts without spaces, or `null` for none. Default: `Intl.Segmenter` if the
   * runtime has it.
   */
  readonly segment?: Segment | null;
  /** Words that a query ignores. Default: the most common words of English and CJK languages. */
  readonly stopWords?: Iterable<string> | undefined;
}

/**
 * Matches one word. In a script that puts no spaces between words, matches consecutive characters
 * of that script instead. Korean counts as a script without spaces, because its particles are
 * attached to the words.
 */
const run =
  /((?:(?=[\p{L}\p{M}\p{Nl}])[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])+)|(?:(?![\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])[\p{L}\p{M}\p{N}])+/gu;
const han = /^\p{scx=Han}$/u;
const hangul = /^\p{sc=Hang}+$/u;
const hiraganaPiece = /^\p{sc=Hira}{1,2}$/u;

/**
 * Creates functions that return the terms of a text for a full-text index, in any language. Width,
 * case and Latin accents do not count. A text without spaces is found by each pair of neighboring
 * characters, and by its words if the runtime can segment it. So a query also finds the text if
 * another runtime, which segments it differently, built the index.
 */
export function searchTerms({
  segment = segmenter() ?? null,
  stopWords,
}: SearchTermsOptions): SearchTerms {
  const ignoredWords = new Set(stopWords ?? commonWords.trim().split(/\s+/));
  return {
    ofText: (text) =>
      termsOf(text, (chars, whole) => {
        // Segmenting takes the most time. It is skipped for texts of one or two characters, which
        // are already terms, and for Korean, which has spaces.
        const words = chars.length > 2 && !hangul.test(whole) ? segment?.(whole) : undefined;
        return [...chars, ...bigrams(chars), ...(words ?? []).filter((word) => lengthOf(word) > 1)];
      }),
    ofQuery(text) {
      const terms = termsOf(text, (chars, whole) => {
        if (chars.length === 1) return chars;
        const words = segment?.(whole).filter((word) => lengthOf(word) > 1 || han.test(word));
        return [...bigrams(chars), ...(words ?? chars.filter((char) => han.test(char)))];
      }).filter((term) => !ignoredWords.has(term));
      // Short pieces of hiragana are mostly grammar. They are used only if the query has no other
      // terms.
      const telling = terms.filter((term) => !hiraganaPiece.test(term));
      return [...new Set(telling.length > 0 ? telling : terms)];
    },
  };
}

/**
 * Words that say nothing about the topic of a question. For languages without spaces between words,
 * the list has pieces of words.
 */
const commonWords = `
a about all am an and any are as at be been but by can could did do does for from had has have he her him his how i if in is it
its just me my no not of on or our please she should so than that the their them then there they this to too us very was we were
what when where which who why will with would you your
的 了 是 在 我 你 您 他 她 它 们 吗 呢 吧 啊 和 与 也 都 就 有 不 没 这 那 哪 请 把 被 给 很 会 要 什么 怎么 我们 你们 他们 这个 那个 我的 你的
です ます した して いる ある する こと もの これ それ どこ なに から まで ので では には とは でも ました ません でした ください
니다 습니 입니 합니 에서 에게 으로 세요 어요 아요 해요 이다 하는 나요 까요 내가 제가 나는 저는 무엇 뭐야
`;

const maxQueryLength = 4_000;

/**
 * Shortens a query of more than 4,000 characters to its first 2,000 and its last 2,000. A long
 * message usually has its question at the start or the end.
 */
export function shortQuery(text: string): string {
  return text.length <= maxQueryLength
    ? text
    : `${text.slice(0, maxQueryLength / 2)}\n${text.slice(-maxQueryLength / 2)}`;
}

function termsOf(
  text: string,
  termsOfUnspaced: (chars: readonly string[], whole: string) => readonly string[],
): string[] {
  const terms: string[] = [];
  for (const [word, whole] of normalizeText(text).matchAll(run)) {
    if (whole === undefined) terms.push(stem(word));
    else terms.push(...termsOfUnspaced([...whole], whole));
  }
  return terms;
}

/** Normalizes width and case. Converts to upper case first, because this turns `ß` into `SS`. */
function normalizeText(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase();
}

/**
 * Removes Latin accents, and the `s` of a plural or a verb. In other scripts, marks stay, because
 * they are letters.
 */
function stem(word: string): string {
  const plain = word.replace(/\p{sc=Latin}+\p{M}*/gu, (letters) =>
    letters.normalize('NFD').replace(/\p{M}/gu, ''),
  );
  return plain.length > 3 ? plain.replace(/(?<=[b-hj-rtv-z])s$/, '') : plain;
}

function bigrams(chars: readonly string[]): readonly string[] {
  return chars.slice(1).map((char, index) => `${chars[index]}${char}`);
}

function lengthOf(word: string): number {
  return [...word].length;
}

function segmenter(): Segment | undefined {
  if (typeof Intl === 'undefined' || !Intl.Segmenter) return undefined;
  const words = new Intl.Segmenter(undefined, { granularity: 'word' });
  return (text) => Array.from(words.segment(text), ({ segment }) => segment);
}
