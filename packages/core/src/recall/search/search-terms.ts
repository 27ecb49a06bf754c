/** Splits a text that is written without spaces into its words. */
export type Segment = (text: string) => readonly string[];

export interface SearchTerms {
  /** Everything a text can be found by; a term comes as often as it is in the text. */
  ofText(text: string): string[];
  /** What to look for, each term once. */
  ofQuery(text: string): string[];
}

export interface SearchTermsOptions {
  /** Default: `Intl.Segmenter` where the runtime has it. `null`: none. */
  readonly segment?: Segment | null;
  /** Not looked for. */
  readonly stopWords: ReadonlySet<string>;
}

/**
 * Either a run of a script that does not space its words (Korean is among them: its particles cling
 * to the word), or a word.
 */
const run =
  /((?:(?=[\p{L}\p{M}\p{Nl}])[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])+)|(?:(?![\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])[\p{L}\p{M}\p{N}])+/gu;
const han = /^\p{scx=Han}$/u;
const hangul = /^\p{sc=Hang}+$/u;
const hiraganaPiece = /^\p{sc=Hira}{1,2}$/u;

/**
 * Terms for a full-text index over any language. Width, case and Latin accents do not count. A text
 * without spaces is found by its words where the runtime can tell them, and by every two
 * neighbouring characters, so that neither a missing dictionary nor a different one makes it
 * unfindable.
 */
export function searchTerms({
  segment = segmenter() ?? null,
  stopWords,
}: SearchTermsOptions): SearchTerms {
  return {
    ofText: (text) =>
      termsOf(text, (chars, whole) => {
        // Telling words is what takes the time. A pair is there as it is, Korean has its spaces.
        const words = chars.length > 2 && !hangul.test(whole) ? segment?.(whole) : undefined;
        return [...chars, ...bigrams(chars), ...(words ?? []).filter((word) => lengthOf(word) > 1)];
      }),
    ofQuery(text) {
      const terms = termsOf(text, (chars, whole) => {
        if (chars.length === 1) return chars;
        const words = segment?.(whole).filter((word) => lengthOf(word) > 1 || han.test(word));
        return [...bigrams(chars), ...(words ?? chars.filter((char) => han.test(char)))];
      }).filter((term) => !stopWords.has(term));
      // Pieces in hiragana are mostly grammar: they count only where there is nothing else to look
      // for.
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

/** Upper case first: `ß` has none but `SS`. */
function fold(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase();
}

/** Without accents (Latin only: elsewhere marks are letters) and a plural's or a verb's `s`. */
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
