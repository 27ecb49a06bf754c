import dictionary from 'dictionary-en';
import { readFileSync } from 'node:fs';
import nspell from 'nspell';
import { root } from '../root.ts';
import type { Prose } from './rules.ts';

/** Names and terms that the dictionary does not have, one in each line. Case does not matter. */
const ownWords = `${root}/scripts/prose/words.txt`;

/**
 * Returns the words that are neither in the American dictionary nor in `words.txt`, each as
 * `path:line: "word"`. Does not check words with characters of other languages, and names with
 * capitals inside, such as `KB` and `OpenAI`.
 */
export function misspellings(files: readonly Prose[]): readonly string[] {
  const { aff, dic } = dictionary;
  const speller = nspell({ aff: Buffer.from(aff), dic: Buffer.from(dic) });
  const own = new Set(readFileSync(ownWords, 'utf8').toLowerCase().split('\n'));
  const known = new Map<string, boolean>();
  const isKnown = (word: string): boolean => {
    const found = known.get(word) ?? (own.has(word.toLowerCase()) || speller.correct(word));
    known.set(word, found);
    return found;
  };
  return files.flatMap(({ path, sentences }) =>
    sentences.flatMap(({ text, line }) =>
      wordsIn(text)
        .filter((word) => !isKnown(word))
        .map(
          (word) =>
            `${path}:${line}: "${word}": not in the dictionary; see scripts/prose/words.txt.`,
        ),
    ),
  );
}

function wordsIn(text: string): readonly string[] {
  const words = text.replace(/https?:\S+/g, '').match(/[\p{L}\d][\p{L}\d’'_]*/gu) ?? [];
  return words
    .map((word) => word.replaceAll('’', "'").replace(/'s?$/, ''))
    .filter((word) => /^[A-Za-z]?[a-z']+$/.test(word));
}
