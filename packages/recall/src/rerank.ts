import { checkOptions, optional, share, type OptionTable } from '@isoloop/core/options';
import type { RetrievedDocument } from '@isoloop/core/message';
import { searchTerms } from '@isoloop/core/tokens';

/** Function that sorts documents into a better order and may leave out some. */
export type Rerank = (
  documents: readonly RetrievedDocument[],
  call: { readonly query: string; readonly topK: number; readonly signal: AbortSignal },
) => readonly RetrievedDocument[] | Promise<readonly RetrievedDocument[]>;

/**
 * Creates a reranker that combines the score of a document with the share of the query's words that
 * the document contains. It works in any language. `weight`: weight of the words, from 0 to 1.
 * Default: 0.3. If a document has no score, its position is used in place of the score. Source: Arc
 * Reactor.
 */
export function keywordRerank(options: { readonly weight?: number } = {}): Rerank {
  checkOptions('keywordRerank()', options, keywordRerankOptions);
  const { weight = 0.3 } = options;
  return (documents, { query }) => {
    const terms = termsOf(query);
    const rank = (document: RetrievedDocument, index: number): number => {
      const match = sharedCount(terms, termsOf(document.content)) / (terms.size || 1);
      return (1 - weight) * relevanceOf(document, index, documents.length) + weight * match;
    };
    return documents
      .map((document, index) => ({ document, rank: rank(document, index) }))
      .toSorted((a, b) => b.rank - a.rank)
      .map(({ document }) => document);
  };
}

/**
 * Creates a reranker that uses maximal marginal relevance. It chooses `topK` documents one by one.
 * For each choice, it takes the score of a document and subtracts the similarity to the chosen
 * documents. Similar documents therefore do not fill the whole result. `lambda` is the weight of
 * the score, from 0 to 1. Default: 0.5. The similarity is the Jaccard index of the words, in any
 * language. Source: Arc Reactor.
 */
export function mmrRerank(options: { readonly lambda?: number } = {}): Rerank {
  checkOptions('mmrRerank()', options, mmrRerankOptions);
  const { lambda = 0.5 } = options;
  return (documents, { topK }) => {
    const candidates = documents.map((document, index) => ({
      document,
      terms: termsOf(document.content),
      relevance: relevanceOf(document, index, documents.length),
      likeness: 0,
    }));
    const ranking: RetrievedDocument[] = [];
    while (candidates.length && ranking.length < topK) {
      const marginal = candidates.map(
        ({ relevance, likeness }) => lambda * relevance - (1 - lambda) * likeness,
      );
      const [next] = candidates.splice(marginal.indexOf(Math.max(...marginal)), 1);
      ranking.push(next!.document);
      for (const one of candidates)
        one.likeness = Math.max(one.likeness, jaccard(one.terms, next!.terms));
    }
    return ranking;
  };
}

const keywordRerankOptions: OptionTable<{ readonly weight?: number }> = {
  weight: optional(share),
};

const mmrRerankOptions: OptionTable<{ readonly lambda?: number }> = { lambda: optional(share) };

function relevanceOf({ score }: RetrievedDocument, index: number, count: number): number {
  return score ?? 1 - index / count;
}

/** Returns the terms of a text. Uses no segmenter, so that every runtime returns the same terms. */
function termsOf(text: string): ReadonlySet<string> {
  return new Set(searchTerms({ segment: null, stopWords: [] }).ofQuery(text));
}

function sharedCount(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  return [...a].filter((term) => b.has(term)).length;
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const bothCount = sharedCount(a, b);
  return bothCount && bothCount / (a.size + b.size - bothCount);
}
