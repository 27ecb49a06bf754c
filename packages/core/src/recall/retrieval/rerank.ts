import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { RetrievedDocument } from './retriever.ts';
import { searchTerms } from '../search/search-terms.ts';

/** Sorts documents into a better order, or drops some. */
export type Rerank = (
  documents: readonly RetrievedDocument[],
  about: { readonly query: string; readonly topK: number; readonly signal: AbortSignal },
) => readonly RetrievedDocument[] | Promise<readonly RetrievedDocument[]>;

/**
 * Creates a reranker that mixes each document's score with the share of the query's words in it, in
 * any language. `weight` is the part of the words, from 0 to 1; default 0.3 (Arc Reactor). A
 * document without a score is ranked by its position.
 */
export function keywordRerank(options: { readonly weight?: number } = {}): Rerank {
  checkFields('CONFIGURATION', 'keywordRerank()', options, '');
  const { weight = 0.3 } = options;
  checkShare('keywordRerank(): weight', weight);
  return (documents, { query }) => {
    const wanted = termsOf(query);
    const rank = (document: RetrievedDocument, index: number): number => {
      const relevance = (1 - weight) * relevanceOf(document, index, documents.length);
      return (
        relevance +
        (wanted.size ? (weight * shared(wanted, termsOf(document.content))) / wanted.size : 0)
      );
    };
    return documents
      .map((document, index) => ({ document, rank: rank(document, index) }))
      .toSorted((a, b) => b.rank - a.rank)
      .map(({ document }) => document);
  };
}

/**
 * Creates a reranker by maximal marginal relevance. It chooses `topK` documents one by one: each by
 * its score minus its similarity to those already chosen. Documents that say the same therefore do
 * not crowd out others. `lambda` is the part of the score, from 0 to 1; default 0.5 (Arc Reactor).
 * Similarity is the Jaccard index of the words, in any language.
 */
export function mmrRerank(options: { readonly lambda?: number } = {}): Rerank {
  checkFields('CONFIGURATION', 'mmrRerank()', options, '');
  const { lambda = 0.5 } = options;
  checkShare('mmrRerank(): lambda', lambda);
  return (documents, { topK }) => {
    const left = documents.map((document, index) => ({
      document,
      terms: termsOf(document.content),
      relevance: relevanceOf(document, index, documents.length),
      likeness: 0,
    }));
    const chosen: RetrievedDocument[] = [];
    while (left.length && chosen.length < topK) {
      const marginal = left.map(
        ({ relevance, likeness }) => lambda * relevance - (1 - lambda) * likeness,
      );
      const [next] = left.splice(marginal.indexOf(Math.max(...marginal)), 1);
      chosen.push(next!.document);
      for (const each of left)
        each.likeness = Math.max(each.likeness, jaccard(each.terms, next!.terms));
    }
    return chosen;
  };
}

function checkShare(what: string, value: number): void {
  if (!(value >= 0 && value <= 1))
    throw new AgentError('CONFIGURATION', `${what} must be a number from 0 to 1`);
}

function relevanceOf({ score }: RetrievedDocument, index: number, count: number): number {
  return score ?? 1 - index / count;
}

/** Returns a text's terms without a segmenter, so that every runtime gives the same result. */
function termsOf(text: string): ReadonlySet<string> {
  return new Set(searchTerms({ segment: null, stopWords: new Set() }).ofQuery(text));
}

function shared(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let count = 0;
  for (const term of a) if (b.has(term)) count++;
  return count;
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const both = shared(a, b);
  return both && both / (a.size + b.size - both);
}
