import { checkOptions } from '../error/options/check-options.ts';
import { boolean, either, infinity, optional, whole } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { ToolSelector } from './select-tools.ts';
import { isObjectOrArray, type JsonObject } from '../message/json.ts';
import { searchTerms, shortQuery } from '../tokens/search-terms.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import { memoize } from '../model/formatter/formatter.ts';

/** How many tools `byWords()` selects, and when. */
export interface ByWordsOptions {
  /**
   * Maximum number of tools to choose. If there are this many tools or fewer, all are chosen.
   * Default: 10.
   */
  readonly maxTools?: number;
  /**
   * Whether to choose even if there are `maxTools` tools or fewer. Default: false. Source: OxyGent.
   */
  readonly evenWhenFew?: boolean;
}

/**
 * Selects tools that share words with the question, for `selectTools`. The selector chooses the
 * tools with words of the question in their name, description or parameters, best match first. If
 * no tool matches, the selector chooses all tools. The selector works in any language but does not
 * know synonyms; `bySimilarity` finds synonyms too. Throws `CONFIGURATION` for an option of the
 * wrong kind.
 */
export function byWords(options: ByWordsOptions = {}): ToolSelector {
  checkOptions('byWords()', options, byWordsOptions);
  return bestOf(wordSearch(), options);
}

const byWordsOptions: OptionTable<ByWordsOptions> = {
  maxTools: optional(either(whole, infinity)),
  evenWhenFew: optional(boolean),
};

/**
 * Limits a search to its `maxTools` best tools. If there are no more tools than that, or the search
 * finds none, all tools are chosen.
 */
export function bestOf(search: ToolSelector, options: ByWordsOptions): ToolSelector {
  const { maxTools = 10, evenWhenFew = false } = options;
  return async (question, tools, context) => {
    const isFew = tools.length <= maxTools && !evenWhenFew;
    let found: readonly string[] = [];
    if (!isFew) found = await search(question, tools, context);
    return found.length ? found.slice(0, maxTools) : tools.map(({ name }) => name);
  };
}

/** Weight of a word in a tool's name. A word in a description has weight 1. */
const nameWeight = 3;

/**
 * Creates a function that searches tools by words in their names, descriptions and parameters, in
 * any language. The function returns the names of the matching tools, best first (BM25 without
 * length normalization). It uses only the start and the end of a long query.
 */
export function wordSearch(): (query: string, tools: readonly ToolSchema[]) => readonly string[] {
  const terms = searchTerms({});
  const termsOf = memoize((tool: ToolSchema) =>
    countTerms(tool, (text) => terms.ofText(separateWords(text))),
  );
  return (query, tools) => {
    const docs = tools.map((tool) => ({ name: tool.name, counts: termsOf(tool) }));
    const weights = terms.ofQuery(separateWords(shortQuery(query))).map((term) => {
      const matchCount = docs.filter(({ counts }) => counts.has(term)).length;
      return { term, weight: Math.log(1 + (docs.length - matchCount + 0.5) / (matchCount + 0.5)) };
    });
    const scoreOf = (counts: ReadonlyMap<string, number>): number =>
      weights.reduce((sum, { term, weight }) => sum + weight * saturatedCount(counts.get(term)), 0);
    return docs
      .map(({ name, counts }) => ({ name, score: scoreOf(counts) }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score)
      .map(({ name }) => name);
  };
}

function countTerms(
  { name, description, parameters }: ToolSchema,
  split: (text: string) => readonly string[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const add = (text: string, weight: number): void => {
    for (const term of split(text)) counts.set(term, (counts.get(term) ?? 0) + weight);
  };
  add(name, nameWeight);
  add(description, 1);
  for (const [key, property] of Object.entries(Object(parameters['properties']) as JsonObject)) {
    const detail = isObjectOrArray(property) ? property['description'] : '';
    add(typeof detail === 'string' ? `${key} ${detail}` : key, 1);
  }
  return counts;
}

/** Returns the weight of a word count. Each further repetition of a word adds less. */
function saturatedCount(count = 0): number {
  return count / (count + 1.2);
}

/** Separates the words of names such as `sendMail` and `send_mail` by spaces. */
function separateWords(text: string): string {
  return text.replace(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, ' ').replaceAll('_', ' ');
}
