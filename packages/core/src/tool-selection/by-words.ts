import { checkFields } from '../error/check-fields.ts';
import { checkWhole } from '../error/check-values.ts';
import type { ToolSelector } from './select-tools.ts';
import { toolSearch } from './tool-search.ts';

export interface ByWordsOptions {
  /** Tools at most; so many or fewer are all taken. Default 10. */
  readonly limit?: number;
  /** Whether to choose among `limit` tools or fewer as well (OxyGent). Default false. */
  readonly evenWhenFew?: boolean;
}

/**
 * For `selectTools`: the tools that have words of the question in their name, description or
 * parameters, the best first; all of them where none has any. For any language; words that mean the
 * same are not known, see `bySimilarity`. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function byWords(options: ByWordsOptions = {}): ToolSelector {
  checkFields('CONFIGURATION', 'byWords()', options, 'limit:count|? evenWhenFew:boolean|?');
  checkWhole('byWords()', { limit: options.limit });
  const { limit = 10, evenWhenFew = false } = options;
  const search = toolSearch();
  return (question, tools) => {
    const all = tools.map(({ name }) => name);
    if (tools.length <= limit && !evenWhenFew) return all;
    const found = search(question, tools);
    return found.length ? found.slice(0, limit) : all;
  };
}
