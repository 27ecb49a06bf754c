import MiniSearch from 'minisearch';
import type { SearchTerms } from './search-terms.ts';
import { shortQuery } from './short-query.ts';

export interface IndexedText {
  readonly id: string;
  readonly text: string;
}

/**
 * A full-text index over any language's texts: by words, with prefixes and one typing error where
 * words are spaced.
 */
export function termIndex(terms: SearchTerms): MiniSearch<IndexedText> {
  return new MiniSearch<IndexedText>({
    fields: ['text'],
    tokenize: terms.ofText,
    processTerm: (term) => term,
    // It would work on behind a timer, which a Worker may not have between two requests.
    autoVacuum: false,
    searchOptions: {
      tokenize: (query) => terms.ofQuery(shortQuery(query)),
      prefix: (term) => isWord(term) && term.length > 2,
      fuzzy: (term) => (isWord(term) && term.length > 4 ? 1 : false),
      weights: { prefix: 0.5, fuzzy: 0.3 },
    },
  });
}

/**
 * A word of a script with spaces; a number has to fit as it is. What is longer is none: its
 * look-alikes would cost its square.
 */
function isWord(term: string): boolean {
  return term.length <= 40 && /^[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]+$/u.test(term);
}
