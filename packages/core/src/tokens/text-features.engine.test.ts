import { expect, test } from 'vitest';
import {
  ARABIC,
  ARABIC_EXTENDED,
  CJK_PUNCTUATION,
  CYRILLIC,
  CYRILLIC_EXTENDED,
  EMOJI,
  EMOJI_NEW,
  HANGUL,
  OTHER,
  SINHALA,
  THAI,
  countFeatures,
} from './text-features.ts';
import * as counter from './text-features.ts';

function counted(text: string, ...indices: readonly number[]): readonly number[] {
  const counts = countFeatures(text);
  return indices.map((index) => counts[index]!);
}

test('counts words, letters, camel case, upper case and Vietnamese letters', () => {
  const { WORDS, LETTERS, CAMEL, UPPERCASE, VIETNAMESE } = counter;
  expect(counted('getUserName URL x', WORDS, LETTERS, CAMEL, UPPERCASE)).toEqual([3, 15, 2, 5]);
  expect(counted('Tiếng Việt', WORDS, LETTERS, VIETNAMESE)).toEqual([2, 9, 2]);
  expect(counted('été đã', WORDS, LETTERS, VIETNAMESE)).toEqual([2, 5, 1]);
});

test('pairs of letters distinguish English from Finnish and from base64', () => {
  const perLetter = (text: string): number =>
    counted(text, counter.BIGRAMS)[0]! / counted(text, counter.LETTERS)[0]!;
  const english = perLetter('the weather in the north of the country is nice');
  const finnish = perLetter('sään pohjoisessa osassa maata sanotaan olevan kaunis');
  const base64 = perLetter('iVBORwKGgoAAAANSUhEUgAABoAAAaQCAIAAAB');
  expect([english, finnish, base64]).toEqual([english, finnish, base64].toSorted((a, b) => a - b));
  expect(counted('the weather', counter.HARD_WORDS)).toEqual([0]);
  expect(counted('xqzwkj', counter.HARD_WORDS)[0]).toBeGreaterThan(0);
});

test('counts digits, punctuation and white space, each also by run', () => {
  const {
    DIGITS,
    DIGIT_GROUPS,
    SPACED_DIGITS,
    PUNCTUATION_MARKS,
    PUNCTUATION_RUNS,
    PUNCTUATION_WORDS,
    PUNCTUATION_LINES,
  } = counter;
  expect(counted('1234567 12', DIGITS, DIGIT_GROUPS, SPACED_DIGITS)).toEqual([9, 4, 1]);
  expect(
    counted(
      'a.b((c;\nd;',
      PUNCTUATION_MARKS,
      PUNCTUATION_RUNS,
      PUNCTUATION_WORDS,
      PUNCTUATION_LINES,
    ),
  ).toEqual([5, 4, 1, 1]);
  expect(counted('a  b\t\tc d\r\n\r\n', counter.SPACE_RUNS, counter.NEWLINE_RUNS)).toEqual([2, 1]);
});

test('counts a tag only if there is nothing but its name between the brackets', () => {
  expect(counted('<p>a</p> <tr><td></td></tr>', counter.TAGS)).toEqual([6]);
  expect(
    counted('<a href="b">c <!-- d --> x > y, a->b, <e List<String> a/b>', counter.TAGS),
  ).toEqual([0]);
});

test('a run of one script includes the rarer letters of that script', () => {
  expect(counted('Привіт, қазақ', CYRILLIC, CYRILLIC_EXTENDED, counter.CYRILLIC_RUNS)).toEqual([
    8, 2, 2,
  ]);
  expect(counted('پارسی عربي', ARABIC, ARABIC_EXTENDED, counter.ARABIC_RUNS)).toEqual([7, 2, 2]);
  expect(counted('สวัสดี ไทย', THAI, counter.THAI_RUNS)).toEqual([9, 2]);
  expect(counted('한국어 OK 한', HANGUL, counter.HANGUL_RUNS)).toEqual([4, 2]);
  expect(counted('සිංහල', SINHALA, counter.INDIC_RUNS)).toEqual([5, 1]);
});

test('counts emoji, emoji after a space, repeated marks and lone surrogates', () => {
  expect(counted('ok 😀 ☀🥰', EMOJI, EMOJI_NEW, counter.SPACED_EMOJI)).toEqual([2, 1, 2]);
  expect(counted('。。。、', CJK_PUNCTUATION, counter.REPEATS)).toEqual([4, 2]);
  expect(counted('\ud83d\ud83d\ude00', OTHER, EMOJI)).toEqual([1, 1]);
  expect(counted('\ud83d', OTHER)).toEqual([1]);
});

test('the counts of a text do not depend on earlier texts', () => {
  const first = [...countFeatures('Hello, 世界! 안녕')];
  countFeatures('something else 123');
  expect([...countFeatures('Hello, 世界! 안녕')]).toEqual(first);
  expect(countFeatures('').every((count) => count === 0)).toBe(true);
});
