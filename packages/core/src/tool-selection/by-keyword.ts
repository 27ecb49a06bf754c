import { checkFields } from '../error/check-fields.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import type { ToolSelector } from './select-tools.ts';

export interface ToolCategory {
  /**
   * The keywords of the category. It matches if the question contains any of them, also within a
   * word, in any case and width.
   */
  readonly keywords: readonly string[];
  /**
   * The names of its tools; a `*` at the end matches every name with that start. A tool may be in
   * several categories.
   */
  readonly tools: readonly string[];
}

/**
 * Creates a selector for `selectTools`. It chooses the tools of the categories that the question
 * names, and the tools without a category. If the question names none, it chooses all tools (Arc
 * Reactor: keyword selector). Throws `CONFIGURATION` for a category without lists of strings.
 */
export function byKeyword(categories: readonly ToolCategory[]): ToolSelector {
  checkFields('CONFIGURATION', 'byKeyword()', { categories }, 'categories:array');
  for (const category of categories)
    checkFields('CONFIGURATION', 'A tool category', category, 'keywords:array tools:array');
  for (const text of categories.flatMap(({ keywords, tools }) => [...keywords, ...tools])) {
    checkFields('CONFIGURATION', 'A tool category', { text }, 'text:string');
  }
  const known = categories.map(({ keywords, tools }) => ({
    keywords: keywords.map(fold).filter(Boolean),
    tools,
  }));
  return (question, tools) => {
    const asked = fold(question);
    const matched = known.filter(({ keywords }) =>
      keywords.some((keyword) => asked.includes(keyword)),
    );
    const isIn = ({ name }: ToolSchema, some: typeof known): boolean =>
      some.some((category) =>
        category.tools.some((pattern) =>
          pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
        ),
      );
    const chosen = matched.length
      ? tools.filter((tool) => isIn(tool, matched) || !isIn(tool, known))
      : tools;
    return chosen.map(({ name }) => name);
  };
}

/**
 * Gives texts that read the same one form: lower case, normal width, and single Hangul letters
 * joined into syllables.
 */
function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim();
}
