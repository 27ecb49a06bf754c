import { checkFields } from '../error/options/check-fields.ts';
import { array, strings } from '../error/options/kinds.ts';
import { nameMatcher } from '../tool/name-pattern.ts';
import type { ToolSelector } from './select-tools.ts';

/** Tools that `byCategory()` selects together, and the keywords that select them. */
export interface ToolCategory {
  /**
   * Keywords of the category. The category matches if the question contains one of its keywords,
   * even inside a word. Letter case and character width do not matter.
   */
  readonly keywords: readonly string[];
  /**
   * Names of the tools in the category, or patterns such as `mail_*`, where `*` matches any text. A
   * tool may be in several categories.
   */
  readonly tools: readonly string[];
}

/**
 * Selects tools by keywords in the question, for `selectTools`. The selector chooses the tools of
 * all categories that match the question, and the tools without a category. If no category matches,
 * the selector chooses all tools. Throws `CONFIGURATION` for a category whose `keywords` or `tools`
 * is not a list of strings. Throws `CONFIGURATION` also for a pattern that cannot match any tool
 * name. Source: Arc Reactor, keyword selector.
 */
export function byCategory(categories: readonly ToolCategory[]): ToolSelector {
  checkFields('byCategory()', { categories }, { categories: array });
  for (const category of categories)
    checkFields('byCategory(): a category', category, { keywords: strings, tools: strings });
  const matchers = categories.map(({ keywords, tools }) => ({
    keywords: keywords.map(fold).filter(Boolean),
    has: nameMatcher('byCategory()', tools),
  }));
  return (question, tools) => {
    const foldedQuestion = fold(question);
    const matchingCategories = matchers.filter(({ keywords }) =>
      keywords.some((word) => foldedQuestion.includes(word)),
    );
    const isChosen = (name: string): boolean =>
      matchingCategories.some(({ has }) => has(name)) || !matchers.some(({ has }) => has(name));
    const names = tools.map(({ name }) => name);
    return matchingCategories.length ? names.filter(isChosen) : names;
  };
}

/**
 * Converts a text to one form for comparison: lower case, normal width, and single Hangul letters
 * joined into syllables.
 */
function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim();
}
