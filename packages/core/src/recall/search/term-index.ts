import MiniSearch from 'minisearch';
import type { SearchTerms } from './search-terms.ts';
import { shortQuery } from './short-query.ts';

export interface IndexedText {
  readonly id: string;
  readonly text: string;
}

/**
 * Creates a full-text index over texts in any language. Finds words; in scripts with spaces also by
 * prefix and with one typing error.
 */
export function termIndex(terms: SearchTerms): MiniSearch<IndexedText> {
  return new MiniSearch<IndexedText>({
    fields: ['text'],
    tokenize: terms.ofText,
    processTerm: (term) => term,
    // Auto-vacuum runs on a timer, which a Worker may not have between two requests.
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
 * Whether a term is a word in the Latin, Greek or Cyrillic script. A number is not: it must match
 * exactly. Skips words over 40 characters: fuzzy matching is quadratic in word length.
 */
function isWord(term: string): boolean {
  return term.length <= 40 && /^[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]+$/u.test(term);
}
