import { checkOptions } from '../../error/check-fields.ts';
import type { ToolSelector } from './select-tools.ts';
import { toolSearch } from './tool-search.ts';

/** How many tools `byWords()` selects, and when. */
export interface ByWordsOptions {
  /**
   * Maximum number of tools to choose. If there are this many tools or fewer, all are chosen.
   * Default: 10.
   */
  readonly limit?: number;
  /** Whether to choose even if there are `limit` tools or fewer (OxyGent). Default: false. */
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
  checkOptions('byWords()', options, 'limit:whole|Infinity|? evenWhenFew:boolean|?');
  const { limit = 10, evenWhenFew = false } = options;
  const search = toolSearch();
  return (question, tools) => {
    const all = tools.map(({ name }) => name);
    if (tools.length <= limit && !evenWhenFew) return all;
    const found = search(question, tools);
    return found.length ? found.slice(0, limit) : all;
  };
}
