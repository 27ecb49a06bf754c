/** Splits a text without spaces into its words. */
export type Segment = (text: string) => readonly string[];

export interface SearchTerms {
  /** Returns the terms that find a text; a term occurs as often as in the text. */
  ofText(text: string): string[];
  /** Returns the terms to search for, each one once. */
  ofQuery(text: string): string[];
}

export interface SearchTermsOptions {
  /** Default: `Intl.Segmenter` if the runtime has it. `null`: no segmenter. */
  readonly segment?: Segment | null;
  /** Words that a query ignores. */
  readonly stopWords: ReadonlySet<string>;
}

/**
 * Matches either a run of a script without spaces between words, or a word. Korean counts as one
 * without spaces, because its particles are attached to the words.
 */
const run =
  /((?:(?=[\p{L}\p{M}\p{Nl}])[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])+)|(?:(?![\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])[\p{L}\p{M}\p{N}])+/gu;
const han = /^\p{scx=Han}$/u;
const hangul = /^\p{sc=Hang}+$/u;
const hiraganaPiece = /^\p{sc=Hira}{1,2}$/u;

/**
 * Creates the terms of a full-text index over any language. Ignores width, case and Latin accents.
 * Finds a text without spaces by its words, if the runtime can segment it, and by each pair of
 * neighboring characters. A missing or different dictionary therefore never hides a text.
 */
export function searchTerms({
  segment = segmenter() ?? null,
  stopWords,
}: SearchTermsOptions): SearchTerms {
  return {
    ofText: (text) =>
      termsOf(text, (chars, whole) => {
        // Segmenting is the slow part. A pair is already a bigram, and Korean has spaces.
        const words = chars.length > 2 && !hangul.test(whole) ? segment?.(whole) : undefined;
        return [...chars, ...bigrams(chars), ...(words ?? []).filter((word) => lengthOf(word) > 1)];
      }),
    ofQuery(text) {
      const terms = termsOf(text, (chars, whole) => {
        if (chars.length === 1) return chars;
        const words = segment?.(whole).filter((word) => lengthOf(word) > 1 || han.test(word));
        return [...bigrams(chars), ...(words ?? chars.filter((char) => han.test(char)))];
      }).filter((term) => !stopWords.has(term));
      // Short hiragana pieces are mostly grammar, so they count only if the query has nothing else.
      const telling = terms.filter((term) => !hiraganaPiece.test(term));
      return [...new Set(telling.length > 0 ? telling : terms)];
    },
  };
}

function termsOf(
  text: string,
  unspaced: (chars: readonly string[], whole: string) => readonly string[],
): string[] {
  const terms: string[] = [];
  for (const [word, whole] of fold(text).matchAll(run)) {
    if (whole === undefined) terms.push(stem(word));
    else terms.push(...unspaced([...whole], whole));
  }
  return terms;
}

/** Normalizes width and case. Upper case first, because it turns `ß` into `SS`. */
function fold(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase();
}

/**
 * Removes accents (Latin only: in other scripts marks are letters) and the `s` of a plural or a
 * verb.
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
