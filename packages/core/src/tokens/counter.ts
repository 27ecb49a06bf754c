/**
 * The counters of a text. Those of the characters of each class follow, from `CYRILLIC` to `OTHER`
 * (`character-class.ts`): a profile's weights have the same order.
 */
export const WORDS = 0;
export const LETTERS = 1;
/** Levels of the letter pairs over their mean. */
export const BIGRAMS = 2;
/** Levels of a word's letter pairs over two a letter. */
export const HARD_WORDS = 3;
/** An upper case letter after a lower case one. */
export const CAMEL = 4;
export const UPPERCASE = 5;
export const VIETNAMESE = 6;
export const DIGITS = 7;
/** Of three. */
export const DIGIT_GROUPS = 8;
export const SPACED_DIGITS = 9;
export const PUNCTUATION_MARKS = 10;
export const PUNCTUATION_RUNS = 11;
/** One punctuation mark with a letter behind it. */
export const PUNCTUATION_WORDS = 12;
export const PUNCTUATION_LINES = 13;
export const NEWLINE_RUNS = 14;
/** Of several spaces, or of tabs. */
export const SPACE_RUNS = 15;
export const SPACED_EMOJI = 16;
export const REPEATS = 17;
export const CYRILLIC_RUNS = 18;
export const ARABIC_RUNS = 19;
export const INDIC_RUNS = 20;
export const THAI_RUNS = 21;
export const HANGUL_RUNS = 22;
/**
 * A word that is all of a tag, without attributes: `<p>`, `</td>`; no parameter of a type, which
 * stands behind a letter: `List<T>`.
 */
export const TAGS = 23;
