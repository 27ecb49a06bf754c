import { bigramLevels, bigramMean, commonHan } from './estimator-tables.ts';

/**
 * Classes of UTF-16 units (`makeClasses`). `countFeatures` counts neighboring units of the first
 * eight classes together, as words or runs.
 */
const LOWER = 0;
const UPPER = 1;
/** Latin letters outside ASCII. */
const ACCENTED = 2;
const DIGIT = 3;
const PUNCTUATION = 4;
const SPACE = 5;
const NEWLINE = 6;
const TAB = 7;

/** Each class from here on is also the index of the counter of its characters (`countFeatures`). */
export const CYRILLIC = 24;
/** Cyrillic letters of Ukrainian, Serbian and similar languages. */
const CYRILLIC_SLAVIC = 25;
/** Cyrillic letters of Kazakh, Mongolian and similar languages. */
export const CYRILLIC_EXTENDED = 26;
export const ARABIC = 27;
/** Arabic letters of Persian, Urdu and similar languages. */
export const ARABIC_EXTENDED = 28;
const BENGALI = 29;
const GURMUKHI = 30;
/** Gujarati and Odia. */
const GUJARATI = 31;
const TAMIL = 32;
/** Telugu and Kannada. */
const TELUGU = 33;
const MALAYALAM = 34;
export const SINHALA = 35;
export const THAI = 36;
export const HANGUL = 37;
const GREEK = 38;
const HEBREW = 39;
const DEVANAGARI = 40;
const LAO = 41;
const TIBETAN = 42;
const ETHIOPIC = 43;
const BURMESE = 44;
const KHMER = 45;
const GEORGIAN = 46;
const ARMENIAN = 47;
/** Single Hangul letters, as in the chat words ㅋㅋ and ㅠㅠ. */
const JAMO = 48;
const HIRAGANA = 49;
const KATAKANA = 50;
/** Han characters that are not in `commonHan`. */
const HAN_RARE = 51;
/** Han characters in `commonHan`. */
const HAN_COMMON = 52;
/** In each class from here on, a repeat of the same character is also counted in `REPEATS`. */
export const CJK_PUNCTUATION = 53;
/** Signs of Latin-1 and general punctuation. */
const SIGN = 54;
const SYMBOL = 55;
const BOX = 56;
/** Emoji up to Unicode 6, skin tones and regional indicators. */
export const EMOJI = 57;
/** Newer emoji, from U+1F700 on. */
export const EMOJI_NEW = 58;
/** Zero-width joiner and variation selectors. */
const JOINER = 59;
/** Combining marks, and vowel points of Arabic and Hebrew. */
const MARK = 60;
/** All other units, such as controls, Han extensions, conjoining jamo and lone surrogates. */
export const OTHER = 61;

const HIGH_SURROGATE = 62;

/**
 * Indexes in the array of counters that `countFeatures` returns. The counters of the character
 * classes `CYRILLIC` to `OTHER` follow at their own indexes. The weights of a profile are in the
 * same order.
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

/** Further indexes in the letter-pair table `bigramLevels`, after 0 to 25 for `a` to `z`. */
const EDGE = 26;
const ACCENT = 27;
/** Length of a row of the letter-pair table. */
const ROW = 28;

type Tables = ReturnType<typeof makeTables>;

/** Tables of 64 kB, which `countFeatures` makes at its first use in under a millisecond. */
let tables: Tables | undefined;

/**
 * Counts the features that the profiles weigh, in one pass over the UTF-16 units. Returns one
 * counter per feature. The next `countFeatures` overwrites the returned array.
 */
export function countFeatures(text: string): Float64Array {
  tables ??= makeTables();
  const { classes, runs, counts } = tables;
  const { length } = text;
  counts.fill(0);
  let previousKind = NEWLINE;
  for (let i = 0; i < length;) {
    const unit = text.charCodeAt(i);
    const kind = classes[unit]!;
    if (kind <= ACCENTED) {
      i = countWord(text, i, tables);
      previousKind = LOWER;
    } else if (kind <= TAB) {
      i = countRun(text, i, kind, previousKind, tables);
      previousKind = kind;
    } else if (kind === HIGH_SURROGATE) {
      const low = text.charCodeAt(i + 1);
      const astral = astralClass(unit, low);
      counts[astral]!++;
      if (previousKind === SPACE) counts[SPACED_EMOJI]!++;
      previousKind = astral;
      i += isLowSurrogate(low) ? 2 : 1;
    } else {
      counts[kind]!++;
      if (kind !== previousKind) {
        const run = runs[kind]!;
        if (run && runs[previousKind] !== run) counts[run]!++;
        if (kind === EMOJI && previousKind === SPACE) counts[SPACED_EMOJI]!++;
      } else if (kind >= CJK_PUNCTUATION && text.charCodeAt(i - 1) === unit) counts[REPEATS]!++;
      previousKind = kind;
      i++;
    }
  }
  counts[BIGRAMS]! -= bigramMean * (counts[LETTERS]! + counts[WORDS]!);
  return counts;
}

/** Counts a run of Latin letters and returns the index of its end. */
function countWord(text: string, start: number, { classes, levels, counts }: Tables): number {
  let pair = EDGE * ROW;
  let level = 0;
  let uppercase = 0;
  let previousKind = UPPER;
  let i = start;
  for (; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    const kind = classes[unit]!;
    if (kind > ACCENTED) break;
    let letter = ACCENT;
    if (kind === ACCENTED) {
      if (isVietnamese(unit)) counts[VIETNAMESE]!++;
    } else {
      letter = (unit & 31) - 1;
      if (kind === UPPER) {
        uppercase++;
        if (previousKind === LOWER) counts[CAMEL]!++;
      }
    }
    level += levels[pair + letter]!;
    pair = letter * ROW;
    previousKind = kind;
  }
  level += levels[pair + EDGE]!;
  const letters = i - start;
  counts[WORDS]!++;
  if (text.charCodeAt(i) === 62 && opensTag(text, start)) counts[TAGS]!++;
  counts[LETTERS]! += letters;
  counts[UPPERCASE]! += uppercase;
  counts[BIGRAMS]! += level;
  counts[HARD_WORDS]! += Math.max(0, level - 2 * letters - 6);
  return i;
}

/** Returns whether `<` or `</` comes before the word, without a letter before the `<` or `</`. */
function opensTag(text: string, start: number): boolean {
  const opener = text.charCodeAt(start - 1);
  const charBefore = text.charCodeAt(start - 2) | 32;
  return (opener === 60 || opener === 47) && (charBefore < 97 || charBefore > 122);
}

/**
 * Counts a run of digits, punctuation, spaces, newlines or tabs and returns the index of its end.
 */
function countRun(
  text: string,
  start: number,
  kind: number,
  previousKind: number,
  { classes, counts }: Tables,
): number {
  let next = kind;
  let i = start + 1;
  for (; i < text.length; i++) {
    next = classes[text.charCodeAt(i)]!;
    if (next !== kind) break;
  }
  const size = i - start;
  if (kind === SPACE) {
    if (size > 1) counts[SPACE_RUNS]!++;
  } else if (kind === PUNCTUATION) {
    counts[PUNCTUATION_MARKS]! += size;
    counts[PUNCTUATION_RUNS]!++;
    if (next === NEWLINE) counts[PUNCTUATION_LINES]!++;
    else if (next <= ACCENTED && size === 1) counts[PUNCTUATION_WORDS]!++;
  } else if (kind === DIGIT) {
    counts[DIGITS]! += size;
    counts[DIGIT_GROUPS]! += Math.ceil(size / 3);
    if (previousKind === SPACE) counts[SPACED_DIGITS]!++;
  } else counts[kind === TAB ? SPACE_RUNS : NEWLINE_RUNS]!++;
  return i;
}

/**
 * Returns the class of the character that a high surrogate and the next unit form. At the end of a
 * text, `low` is `NaN`.
 */
function astralClass(high: number, low: number): number {
  if (!isLowSurrogate(low)) return OTHER;
  if (high === 0xd83e || (high === 0xd83d && low >= 0xdf00)) return EMOJI_NEW;
  return high === 0xd83c || high === 0xd83d ? EMOJI : OTHER;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Returns whether a UTF-16 unit is ă, đ, ơ, ư or a letter with two marks. */
function isVietnamese(unit: number): boolean {
  return unit >= 0x1ea0 || unit === 0x1b0 || unit === 0x1a1 || unit === 0x111 || unit === 0x103;
}

function makeTables() {
  // For each character class, the index of the counter of its runs, or 0.
  const runs = new Uint8Array(HIGH_SURROGATE);
  runs.fill(CYRILLIC_RUNS, CYRILLIC, CYRILLIC_EXTENDED + 1);
  runs.fill(ARABIC_RUNS, ARABIC, ARABIC_EXTENDED + 1);
  runs.fill(INDIC_RUNS, BENGALI, SINHALA + 1);
  runs[THAI] = THAI_RUNS;
  runs[HANGUL] = HANGUL_RUNS;
  // Levels of letter pairs.
  const levels = new Uint8Array(ROW * ROW).map(
    (_, i) => ((bigramLevels.charCodeAt(i >> 1) - 24) >> (i % 2 ? 0 : 3)) & 7,
  );
  return { classes: makeClasses(), runs, levels, counts: new Float64Array(OTHER + 1) };
}

/** Returns the table of character classes, indexed by the code of a UTF-16 unit. */
function makeClasses(): Uint8Array {
  const classes = new Uint8Array(0x1_00_00);
  let unit = 0;
  for (let i = 0; i < ranges.length; i += 2) {
    const end = unit + ranges[i]!;
    classes.fill(ranges[i + 1]!, unit, end);
    unit = end;
  }
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
