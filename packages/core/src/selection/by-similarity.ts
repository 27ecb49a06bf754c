import { invalidInput } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { boolean, either, func, infinity, optional, share, whole } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import { RecentMap } from '../wait/recent-map.ts';
import { bestOf, type ByWordsOptions } from './by-words.ts';
import type { ToolSelector } from './select-tools.ts';

/** Vector of a text, as an embedding model returns it. */
type Embedding = ArrayLike<number>;

/**
 * Function that returns one vector per text, in the order of the texts. All vectors have the same
 * length.
 */
export type Embed = (
  texts: readonly string[],
  context: { readonly signal: AbortSignal },
) => Promise<readonly Embedding[]>;

/** How `bySimilarity()` embeds texts, and how many tools it selects. */
export interface BySimilarityOptions extends ByWordsOptions {
  readonly embed: Embed;
  /**
   * Minimum cosine similarity of a chosen tool to the question, from 0 to 1. Default: 0.3. Source:
   * Arc Reactor.
   */
  readonly threshold?: number;
}

/**
 * Selects tools close in meaning to the question, for `selectTools`. The selector chooses the tools
 * whose name and description are closest in meaning to the question. If no tool is close enough,
 * the selector chooses all tools. The selector caches the tools' vectors, which all agents with
 * this selector share. Throws `CONFIGURATION` for an option of the wrong kind. The selector rejects
 * if `embed` rejects or does not return vectors. Source: Arc Reactor, semantic selector.
 */
export function bySimilarity(options: BySimilarityOptions): ToolSelector {
  checkOptions('bySimilarity()', options, bySimilarityOptions);
  const { embed, threshold = 0.3 } = options;
  return bestOf(similaritySearch(embed, threshold), options);
}

const bySimilarityOptions: OptionTable<BySimilarityOptions> = {
  embed: func,
  threshold: optional(share),
  maxTools: optional(either(whole, infinity)),
  evenWhenFew: optional(boolean),
};

/**
 * Creates a selector that returns the names of the tools whose similarity reaches the threshold,
 * most similar first.
 */
export function similaritySearch(embed: Embed, threshold: number): ToolSelector {
  const cache = new RecentMap<string, Embedding>(2_000);
  return async (question, tools, context) => {
    const vectors = new Map(tools.map((tool) => [toText(tool), cache.get(toText(tool))]));
    const missing = [...vectors.keys()].filter((text) => !vectors.get(text));
    const embeddings = await embed([question, ...missing], context);
    const count = missing.length + 1;
    if (embeddings.length !== count)
      throw invalidInput(`embed() must return ${count} vectors, one for each text.`);
    const [questionVector, ...toolVectors] = embeddings;
    for (const [index, text] of missing.entries()) {
      vectors.set(text, toolVectors[index]!);
      cache.set(text, toolVectors[index]!);
    }
    const scoredTools = tools.map((tool) => ({
      name: tool.name,
      score: cosine(questionVector!, vectors.get(toText(tool))!),
    }));
    return scoredTools
      .filter(({ score }) => score >= threshold)
      .toSorted((a, b) => b.score - a.score)
      .map(({ name }) => name);
  };
}

function toText({ name, description }: ToolSchema): string {
  return `${name}: ${description}`;
}

/**
 * Returns the cosine of two vectors. Returns 0 if a vector has only zeros or is not of numbers.
 * Also returns 0 if the lengths differ, because the model behind `embed` has then changed.
 */
function cosine(a: Embedding, b: Embedding): number {
  if (a.length !== b.length) return 0;
  let [dot, lengthA, lengthB] = [0, 0, 0];
  for (let index = 0; index < a.length; index += 1) {
    const [x, y] = [a[index]!, b[index]!];
    dot += x * y;
    lengthA += x * x;
    lengthB += y * y;
  }
  return dot / Math.sqrt(lengthA * lengthB) || 0;
}
