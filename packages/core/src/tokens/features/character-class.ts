/** Classes that the estimator gives to UTF-16 units. It reads the first eight in runs. */
export const LOWER = 0;
export const UPPER = 1;
/** A Latin letter beyond ASCII. */
export const ACCENTED = 2;
export const DIGIT = 3;
export const PUNCTUATION = 4;
export const SPACE = 5;
export const NEWLINE = 6;
export const TAB = 7;

/**
 * From here on, a class is also the index of the counter of its characters (`text-features.ts`).
 */
export const CYRILLIC = 24;
/** Ukrainian, Serbian and the like. */
export const CYRILLIC_SLAVIC = 25;
/** Kazakh, Mongolian and the like. */
export const CYRILLIC_EXTENDED = 26;
export const ARABIC = 27;
/** Persian, Urdu and the like. */
export const ARABIC_EXTENDED = 28;
export const BENGALI = 29;
export const GURMUKHI = 30;
export const GUJARATI = 31;
export const TAMIL = 32;
/** Telugu and Kannada. */
export const TELUGU = 33;
export const MALAYALAM = 34;
export const SINHALA = 35;
export const THAI = 36;
export const HANGUL = 37;
export const GREEK = 38;
export const HEBREW = 39;
export const DEVANAGARI = 40;
export const LAO = 41;
export const TIBETAN = 42;
export const ETHIOPIC = 43;
export const BURMESE = 44;
export const KHMER = 45;
export const GEORGIAN = 46;
export const ARMENIAN = 47;
/** Single Hangul letters, as in chat: ㅋㅋ, ㅠㅠ. */
export const JAMO = 48;
export const HIRAGANA = 49;
export const KATAKANA = 50;
export const HAN_RARE = 51;
export const HAN_COMMON = 52;
/** From here on, a repeated character costs less. */
export const CJK_PUNCTUATION = 53;
/** Latin-1 signs, general punctuation. */
export const SIGN = 54;
export const SYMBOL = 55;
export const BOX = 56;
/** Up to Unicode 6, with skin tones and regional indicators. */
export const EMOJI = 57;
export const EMOJI_NEW = 58;
/** Zero-width joiner, variation selectors. */
export const JOINER = 59;
/** Combining marks, Arabic and Hebrew points. */
export const MARK = 60;
/** Han extensions, conjoining jamo, controls, lone surrogates, and all other units. */
export const OTHER = 61;

export const HIGH_SURROGATE = 62;
