import { checkFields } from '../../error/check-fields.ts';
import type { ToolSchema } from '../../model/chat-model.ts';
import { nameMatcher } from '../../tool/name-pattern.ts';
import type { ToolSelector } from './select-tools.ts';

/** Tools that `byKeyword()` selects together, and the keywords that select them. */
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
 * Selects tools by keywords in the question, for `selectTools` (Arc Reactor: keyword selector). The
 * selector chooses the tools of all categories that match the question, and the tools without a
 * category. If no category matches, the selector chooses all tools. Throws `CONFIGURATION` for a
 * category whose `keywords` or `tools` is not a list of strings. Throws `CONFIGURATION` also for a
 * pattern that cannot match any tool name.
 */
export function byKeyword(categories: readonly ToolCategory[]): ToolSelector {
  checkFields('byKeyword()', { categories }, 'categories:array');
  for (const category of categories)
    checkFields('byKeyword(): a category', category, 'keywords:array tools:array');
  for (const text of categories.flatMap(({ keywords, tools }) => [...keywords, ...tools])) {
    checkFields('byKeyword(): a category', { text }, 'text:string');
  }
  const known = categories.map(({ keywords, tools }) => ({
    keywords: keywords.map(fold).filter(Boolean),
    has: nameMatcher('byKeyword()', tools),
  }));
  return (question, tools) => {
    const asked = fold(question);
    const matched = known.filter(({ keywords }) =>
      keywords.some((keyword) => asked.includes(keyword)),
    );
    const isIn = ({ name }: ToolSchema, some: typeof known): boolean =>
      some.some((category) => category.has(name));
    const chosen = matched.length
      ? tools.filter((tool) => isIn(tool, matched) || !isIn(tool, known))
      : tools;
    return chosen.map(({ name }) => name);
  };
}

/**
 * Converts a text to one form for comparison: lower case, normal width, and single Hangul letters
 * joined into syllables.
 */
function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim();
}
