import {
  ACCENTED,
  ARABIC,
  ARABIC_EXTENDED,
  BENGALI,
  CJK_PUNCTUATION,
  CYRILLIC,
  CYRILLIC_EXTENDED,
  DIGIT,
  EMOJI,
  EMOJI_NEW,
  HANGUL,
  HIGH_SURROGATE,
  LOWER,
  NEWLINE,
  OTHER,
  PUNCTUATION,
  SINHALA,
  SPACE,
  TAB,
  THAI,
  UPPER,
} from './character-class.ts';
import { makeClasses } from './class-table.ts';
import {
  ARABIC_RUNS,
  BIGRAMS,
  CAMEL,
  CYRILLIC_RUNS,
  DIGITS,
  DIGIT_GROUPS,
  HANGUL_RUNS,
  HARD_WORDS,
  INDIC_RUNS,
  LETTERS,
  NEWLINE_RUNS,
  PUNCTUATION_LINES,
  PUNCTUATION_MARKS,
  PUNCTUATION_RUNS,
  PUNCTUATION_WORDS,
  REPEATS,
  SPACED_DIGITS,
  SPACED_EMOJI,
  SPACE_RUNS,
  TAGS,
  THAI_RUNS,
  UPPERCASE,
  VIETNAMESE,
  WORDS,
} from './counter.ts';
import { bigramLevels, bigramMean } from './estimator-tables.ts';

/** Further indexes in the letter-pair table `bigramLevels`, after 0 to 25 for `a` to `z`. */
const EDGE = 26;
const ACCENT = 27;
/** Length of a row of the letter-pair table. */
const ROW = 28;

interface Tables {
  readonly classes: Uint8Array;
  /** For each character class, the index of the counter of its runs, or 0. */
  readonly runs: Uint8Array;
  /** Levels of letter pairs, decoded from `bigramLevels`. */
  readonly levels: Uint8Array;
  readonly counts: Float64Array;
}

/** Tables of 64 kB, which `countFeatures` makes at its first use in under a millisecond. */
let tables: Tables | undefined;

/**
 * Counts the features that the profiles weigh, in one pass over the UTF-16 units. Returns one
 * counter per feature (`counter.ts`). The next `countFeatures` overwrites the returned array.
 */
export function countFeatures(text: string): Float64Array {
  tables ??= makeTables();
  const { classes, runs, counts } = tables;
  const { length } = text;
  counts.fill(0);
  let before = NEWLINE;
  for (let i = 0; i < length;) {
    const unit = text.charCodeAt(i);
    const kind = classes[unit]!;
    if (kind <= ACCENTED) {
      i = countWord(text, i, tables);
      before = LOWER;
    } else if (kind <= TAB) {
      i = countRun(text, i, kind, before, tables);
      before = kind;
    } else if (kind === HIGH_SURROGATE) {
      const low = text.charCodeAt(i + 1);
      const astral = astralClass(unit, low);
      counts[astral]!++;
      if (before === SPACE) counts[SPACED_EMOJI]!++;
      before = astral;
      i += isLowSurrogate(low) ? 2 : 1;
    } else {
      counts[kind]!++;
      if (kind !== before) {
        const run = runs[kind]!;
        if (run && runs[before] !== run) counts[run]!++;
        if (kind === EMOJI && before === SPACE) counts[SPACED_EMOJI]!++;
      } else if (kind >= CJK_PUNCTUATION && text.charCodeAt(i - 1) === unit) counts[REPEATS]!++;
      before = kind;
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
  let before = UPPER;
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
        if (before === LOWER) counts[CAMEL]!++;
      }
    }
    level += levels[pair + letter]!;
    pair = letter * ROW;
    before = kind;
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
  const before = text.charCodeAt(start - 2) | 32;
  return (opener === 60 || opener === 47) && (before < 97 || before > 122);
}

/**
 * Counts a run of digits, punctuation, spaces, newlines or tabs and returns the index of its end.
 */
function countRun(
  text: string,
  start: number,
  kind: number,
  before: number,
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
    if (before === SPACE) counts[SPACED_DIGITS]!++;
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

function makeTables(): Tables {
  const runs = new Uint8Array(HIGH_SURROGATE);
  runs.fill(CYRILLIC_RUNS, CYRILLIC, CYRILLIC_EXTENDED + 1);
  runs.fill(ARABIC_RUNS, ARABIC, ARABIC_EXTENDED + 1);
  runs.fill(INDIC_RUNS, BENGALI, SINHALA + 1);
  runs[THAI] = THAI_RUNS;
  runs[HANGUL] = HANGUL_RUNS;
  return {
    classes: makeClasses(),
    runs,
    levels: makeLevels(),
    counts: new Float64Array(OTHER + 1),
  };
}

function makeLevels(): Uint8Array {
  return Uint8Array.from(
    { length: ROW * ROW },
    (_, i) => ((bigramLevels.charCodeAt(i >> 1) - 24) >> (i % 2 ? 0 : 3)) & 7,
  );
}
