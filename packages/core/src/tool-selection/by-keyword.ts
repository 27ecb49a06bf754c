import { checkFields } from '../error/check-fields.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import type { ToolSelector } from './select-tools.ts';

export interface ToolCategory {
  /**
   * Any of these within the question means this category: parts of words too, in whatever case and
   * width.
   */
  readonly keywords: readonly string[];
  /** The names of its tools; with `*` at the end all that begin so. A tool may be in several. */
  readonly tools: readonly string[];
}

/**
 * For `selectTools`: the tools of the categories that the question names, and those of no category.
 * Where it names none, all of them (Arc Reactor: keyword selector). Throws `CONFIGURATION` for a
 * category without lists of texts.
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

/** One form for what reads the same: upper case, full width, Hangul typed as its letters. */
function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim();
}
