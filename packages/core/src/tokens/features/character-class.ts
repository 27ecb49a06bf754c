/**
 * Classes of UTF-16 units (`makeClasses`). `countFeatures` counts neighboring units of the first
 * eight classes together, as words or runs.
 */
export const LOWER = 0;
export const UPPER = 1;
/** Latin letters outside ASCII. */
export const ACCENTED = 2;
export const DIGIT = 3;
export const PUNCTUATION = 4;
export const SPACE = 5;
export const NEWLINE = 6;
export const TAB = 7;

/** Each class from here on is also the index of the counter of its characters (`countFeatures`). */
export const CYRILLIC = 24;
/** Cyrillic letters of Ukrainian, Serbian and similar languages. */
export const CYRILLIC_SLAVIC = 25;
/** Cyrillic letters of Kazakh, Mongolian and similar languages. */
export const CYRILLIC_EXTENDED = 26;
export const ARABIC = 27;
/** Arabic letters of Persian, Urdu and similar languages. */
export const ARABIC_EXTENDED = 28;
export const BENGALI = 29;
export const GURMUKHI = 30;
/** Gujarati and Odia. */
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
/** Single Hangul letters, as in the chat words ㅋㅋ and ㅠㅠ. */
export const JAMO = 48;
export const HIRAGANA = 49;
export const KATAKANA = 50;
/** Han characters that are not in `commonHan`. */
export const HAN_RARE = 51;
/** Han characters in `commonHan`. */
export const HAN_COMMON = 52;
/** In each class from here on, a repeat of the same character is also counted in `REPEATS`. */
export const CJK_PUNCTUATION = 53;
/** Signs of Latin-1 and general punctuation. */
export const SIGN = 54;
export const SYMBOL = 55;
export const BOX = 56;
/** Emoji up to Unicode 6, skin tones and regional indicators. */
export const EMOJI = 57;
/** Newer emoji, from U+1F700 on. */
export const EMOJI_NEW = 58;
/** Zero-width joiner and variation selectors. */
export const JOINER = 59;
/** Combining marks, and vowel points of Arabic and Hebrew. */
export const MARK = 60;
/** All other units, such as controls, Han extensions, conjoining jamo and lone surrogates. */
export const OTHER = 61;

export const HIGH_SURROGATE = 62;
