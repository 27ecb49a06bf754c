/**
 * Indexes in the array of counters that `countFeatures` returns. The counters of the character
 * classes `CYRILLIC` to `OTHER` follow at their own indexes (`character-class.ts`). The weights of
 * a profile are in the same order.
 */
export const WORDS = 0;
export const LETTERS = 1;
/** Sum of the levels of all letter pairs (`bigramLevels`), minus `bigramMean` per pair. */
export const BIGRAMS = 2;
/**
 * Sum over all words. A word adds the levels of its letter pairs, minus 2 per letter, minus 6, if
 * the result is above 0.
 */
export const HARD_WORDS = 3;
/** Uppercase letters after a lowercase letter. */
export const CAMEL = 4;
export const UPPERCASE = 5;
export const VIETNAMESE = 6;
export const DIGITS = 7;
/** Groups of up to three digits within a run of digits. */
export const DIGIT_GROUPS = 8;
/** Runs of digits after a space. */
export const SPACED_DIGITS = 9;
export const PUNCTUATION_MARKS = 10;
export const PUNCTUATION_RUNS = 11;
/** Single punctuation marks before a letter. */
export const PUNCTUATION_WORDS = 12;
/** Runs of punctuation before a line break. */
export const PUNCTUATION_LINES = 13;
export const NEWLINE_RUNS = 14;
/** Runs of two or more spaces, and runs of tabs. */
export const SPACE_RUNS = 15;
/** Emoji and other characters outside the BMP after a space. */
export const SPACED_EMOJI = 16;
/** Characters that equal the character before them, in the classes from `CJK_PUNCTUATION` on. */
export const REPEATS = 17;
export const CYRILLIC_RUNS = 18;
export const ARABIC_RUNS = 19;
export const INDIC_RUNS = 20;
export const THAI_RUNS = 21;
export const HANGUL_RUNS = 22;
/**
 * HTML tags without attributes, such as `<p>` and `</td>`. A type parameter as in `List<T>` does
 * not count, because its `<` follows a letter.
 */
export const TAGS = 23;
