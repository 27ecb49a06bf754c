import { expect, test } from 'vitest';
import { searchTerms } from './search-terms.ts';

const none: ReadonlySet<string> = new Set();
const withoutWords = searchTerms({ segment: null, stopWords: none });
const split = (text: string): readonly string[] => text.split(/(?=好)|(?<=好き)/);

test('searchTerms() ignores width, case, accents and plural endings', () => {
  expect(withoutWords.ofText('Ｃafé STRASSE straße dogs glass bus')).toEqual([
    'cafe',
    'strasse',
    'strasse',
    'dog',
    'glass',
    'bus',
  ]);
  expect(withoutWords.ofText('ﾃｽﾄ')).toEqual(withoutWords.ofText('テスト'));
  expect(withoutWords.ofText('한국')).toEqual(withoutWords.ofText('한국'.normalize('NFD')));
});

test('combining marks of other scripts than Latin are part of a letter', () => {
  expect(withoutWords.ofText('हिन्दी')).toEqual(['हिन्दी']);
  expect(withoutWords.ofText('が')).toEqual(['が']);
});

test('scripts without spaces are indexed by character, by pair of characters and by word', () => {
  expect(withoutWords.ofText('東京都へ')).toEqual(['東', '京', '都', 'へ', '東京', '京都', '都へ']);
  expect(searchTerms({ segment: split, stopWords: none }).ofText('猫好き')).toEqual([
    '猫',
    '好',
    'き',
    '猫好',
    '好き',
    '好き',
  ]);
  expect(withoutWords.ofText('iPhoneを3台')).toEqual(['iphone', 'を', '3', '台']);
  expect(withoutWords.ofText('コーヒー')).toContain('ーヒ');
});

test('a query uses pairs and words, and single characters only if they are words', () => {
  expect(searchTerms({ segment: split, stopWords: none }).ofQuery('猫好き')).toEqual([
    '猫好',
    '好き',
    '猫',
  ]);
  expect(withoutWords.ofQuery('学校에서 猫')).toEqual(['学校', '校에', '에서', '学', '校', '猫']);
});

test('a query uses terms in hiragana only if there are no other terms', () => {
  expect(withoutWords.ofQuery('りんごを買う')).toEqual(['を買', '買う', '買']);
  expect(withoutWords.ofQuery('りんご')).toEqual(['りん', 'んご']);
});

test('a query ignores stop words, but a text keeps them', () => {
  const terms = searchTerms({ segment: null });
  expect(terms.ofQuery('What is the name of my dog?')).toEqual(['name', 'dog']);
  expect(terms.ofQuery('what is it?')).toEqual([]);
  expect(terms.ofText('the dog')).toEqual(['the', 'dog']);
});

test('punctuation and emoji are ignored', () => {
  expect(withoutWords.ofText('「、。」 🎉 — ?!')).toEqual([]);
  expect(withoutWords.ofText('\ud83d')).toEqual([]);
});

test('words are found with the segmenter of the runtime if it has one', () => {
  const terms = searchTerms({ stopWords: none });
  expect(terms.ofText('ありがとうございます')).toContain('ありがとう');
  expect(terms.ofText('ภาษาไทย')).toContain('ภาษา');
});
