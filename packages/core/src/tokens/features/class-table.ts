import {
  ACCENTED,
  ARABIC,
  ARABIC_EXTENDED,
  ARMENIAN,
  BENGALI,
  BOX,
  BURMESE,
  CJK_PUNCTUATION,
  CYRILLIC,
  CYRILLIC_EXTENDED,
  CYRILLIC_SLAVIC,
  DEVANAGARI,
  DIGIT,
  EMOJI,
  ETHIOPIC,
  GEORGIAN,
  GREEK,
  GUJARATI,
  GURMUKHI,
  HANGUL,
  HAN_COMMON,
  HAN_RARE,
  HEBREW,
  HIGH_SURROGATE,
  HIRAGANA,
  JAMO,
  JOINER,
  KATAKANA,
  KHMER,
  LAO,
  LOWER,
  MALAYALAM,
  MARK,
  NEWLINE,
  OTHER,
  PUNCTUATION,
  SIGN,
  SINHALA,
  SPACE,
  SYMBOL,
  TAB,
  TAMIL,
  TELUGU,
  THAI,
  TIBETAN,
  UPPER,
} from './character-class.ts';
import { commonHan } from './estimator-tables.ts';

/** Returns the table of character classes, indexed by the code of a UTF-16 unit. */
export function makeClasses(): Uint8Array {
  const classes = new Uint8Array(0x1_00_00);
  let unit = 0;
  for (let i = 0; i < ranges.length; i += 2)
    classes.fill(ranges[i + 1]!, unit, (unit += ranges[i]!));
  unit = 0x4d_ff;
  for (let i = 0; i < commonHan.length; i++) {
    const step = (commonHan.charCodeAt(i) + 50) % 92;
    unit += Math.min(step, 90);
    if (step < 91) classes[unit] = HAN_COMMON;
  }
  return classes;
}

/** Consecutive ranges of UTF-16 units from U+0000 to U+FFFF, as pairs of length and class. */
// oxfmt-ignore
const ranges: readonly number[] = [
  // from U+0000
  9, OTHER, 1, TAB, 1, NEWLINE, 2, OTHER, 1, NEWLINE, 18, OTHER, 1, SPACE, 15, PUNCTUATION, 10, DIGIT, 7, PUNCTUATION,
  // from U+0041
  26, UPPER, 6, PUNCTUATION, 26, LOWER, 4, PUNCTUATION, 33, OTHER,
  // from U+00A0
  32, SIGN, 23, ACCENTED, 1, SYMBOL, 31, ACCENTED, 1, SYMBOL, 520, ACCENTED, 112, MARK,
  // from U+0370
  144, GREEK, 16, CYRILLIC_SLAVIC, 64, CYRILLIC, 16, CYRILLIC_SLAVIC, 208, CYRILLIC_EXTENDED, 96, ARMENIAN,
  // from U+0590
  1, HEBREW, 55, MARK, 56, HEBREW, 75, ARABIC, 21, MARK, 16, ARABIC, 1, MARK,
  // from U+0671
  101, ARABIC_EXTENDED, 24, MARK, 530, ARABIC_EXTENDED,
  // from U+0900
  128, DEVANAGARI, 128, BENGALI, 128, GURMUKHI, 256, GUJARATI, 128, TAMIL, 256, TELUGU, 128, MALAYALAM, 128, SINHALA,
  // from U+0E00
  128, THAI, 128, LAO, 256, TIBETAN, 160, BURMESE, 96, GEORGIAN, 256, OTHER, 416, ETHIOPIC, 992, OTHER,
  // from U+1780
  128, KHMER, 1536, OTHER, 256, ACCENTED, 256, GREEK,
  // from U+2000
  13, SIGN, 1, JOINER, 98, SIGN, 1168, SYMBOL, 160, BOX, 96, SYMBOL, 448, EMOJI, 1088, SYMBOL, 1024, OTHER,
  // from U+3000
  64, CJK_PUNCTUATION, 96, HIRAGANA, 96, KATAKANA, 49, OTHER, 94, JAMO, 7281, OTHER, 20992, HAN_RARE, 3072, OTHER,
  // from U+AC00
  11172, HANGUL, 92, OTHER, 1024, HIGH_SURROGATE, 8016, OTHER,
  // from U+FB50
  688, ARABIC, 16, JOINER, 96, OTHER, 144, ARABIC, 240, CJK_PUNCTUATION, 16, OTHER,
];
