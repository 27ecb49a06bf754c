import MiniSearch from 'minisearch';
import { shortQuery, type SearchTerms } from '@isoloop/core/tokens';

export interface IndexedText {
  readonly id: string;
  readonly text: string;
}

/**
 * Creates a full-text index for texts in any language. It finds whole words. In scripts with
 * spaces, it also finds words by their beginning and words with one typing error.
 */
export function termIndex(terms: SearchTerms): MiniSearch<IndexedText> {
  return new MiniSearch<IndexedText>({
    fields: ['text'],
    tokenize: terms.ofText,
    processTerm: (term) => term,
    // Automatic clean-up uses a timer, and timers may not run in a Worker between two requests.
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
 * Returns whether a term is a word in the Latin, Greek or Cyrillic script. Numbers are excluded,
 * because they must match exactly. Words over 40 characters are excluded, because fuzzy matching is
 * quadratic in word length.
 */
function isWord(term: string): boolean {
  return term.length <= 40 && /^[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]+$/u.test(term);
}
