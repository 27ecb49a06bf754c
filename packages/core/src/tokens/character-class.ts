/** What the estimator takes a UTF-16 unit for. The first eight are read in runs. */
export const LOWER = 0;
export const UPPER = 1;
/** A Latin letter beyond ASCII. */
export const ACCENTED = 2;
export const DIGIT = 3;
export const PUNCTUATION = 4;
export const SPACE = 5;
export const NEWLINE = 6;
export const TAB = 7;

/** From here on a class is also the index of the counter of its characters (`text-features.ts`). */
export const CYRILLIC = 23;
/** Ukrainian, Serbian and the like. */
export const CYRILLIC_SLAVIC = 24;
/** Kazakh, Mongolian and the like. */
export const CYRILLIC_EXTENDED = 25;
export const ARABIC = 26;
/** Persian, Urdu and the like. */
export const ARABIC_EXTENDED = 27;
export const BENGALI = 28;
export const GURMUKHI = 29;
export const GUJARATI = 30;
export const TAMIL = 31;
/** Telugu and Kannada. */
export const TELUGU = 32;
export const MALAYALAM = 33;
export const SINHALA = 34;
export const THAI = 35;
export const HANGUL = 36;
export const GREEK = 37;
export const HEBREW = 38;
export const DEVANAGARI = 39;
export const LAO = 40;
export const TIBETAN = 41;
export const ETHIOPIC = 42;
export const BURMESE = 43;
export const KHMER = 44;
export const GEORGIAN = 45;
export const ARMENIAN = 46;
/** Single Hangul letters, as in chat: ㅋㅋ, ㅠㅠ. */
export const JAMO = 47;
export const HIRAGANA = 48;
export const KATAKANA = 49;
export const HAN_RARE = 50;
export const HAN_COMMON = 51;
/** From here on a character that follows itself costs less. */
export const CJK_PUNCTUATION = 52;
/** Latin-1 signs, general punctuation. */
export const SIGN = 53;
export const SYMBOL = 54;
export const BOX = 55;
/** Up to Unicode 6, with skin tones and regional indicators. */
export const EMOJI = 56;
export const EMOJI_NEW = 57;
/** Zero-width joiner, variation selectors. */
export const JOINER = 58;
/** Combining marks, Arabic and Hebrew points. */
export const MARK = 59;
/** Han extensions, conjoining jamo, controls, lone surrogates, and whatever has no class of its own. */
export const OTHER = 60;

export const HIGH_SURROGATE = 61;
