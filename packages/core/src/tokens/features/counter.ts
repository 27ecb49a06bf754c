/**
 * Indexes of a text's counters. The counters of the character classes follow, from `CYRILLIC` to
 * `OTHER` (`character-class.ts`). A profile's weights have the same order.
 */
export const WORDS = 0;
export const LETTERS = 1;
/** Sum of the letter pairs' levels above their mean. */
export const BIGRAMS = 2;
/** Sum of the letter pairs' levels of a word above two per letter and 6 per word. */
export const HARD_WORDS = 3;
/** An uppercase letter after a lowercase one. */
export const CAMEL = 4;
export const UPPERCASE = 5;
export const VIETNAMESE = 6;
export const DIGITS = 7;
/** Groups of up to three digits. */
export const DIGIT_GROUPS = 8;
export const SPACED_DIGITS = 9;
export const PUNCTUATION_MARKS = 10;
export const PUNCTUATION_RUNS = 11;
/** A single punctuation mark before a letter. */
export const PUNCTUATION_WORDS = 12;
export const PUNCTUATION_LINES = 13;
export const NEWLINE_RUNS = 14;
/** Runs of several spaces, or of tabs. */
export const SPACE_RUNS = 15;
export const SPACED_EMOJI = 16;
export const REPEATS = 17;
export const CYRILLIC_RUNS = 18;
export const ARABIC_RUNS = 19;
export const INDIC_RUNS = 20;
export const THAI_RUNS = 21;
export const HANGUL_RUNS = 22;
/**
 * A word that is a whole tag, without attributes: `<p>`, `</td>`. A type parameter follows a letter
 * and does not count: `List<T>`.
 */
export const TAGS = 23;
