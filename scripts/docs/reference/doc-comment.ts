/** The parts of a documentation comment. */
export interface DocComment {
  /** The text as Markdown, with its default. */
  readonly text: string;
  readonly examples: readonly string[];
}

/** Reads a documentation comment without its stars. Knows `@example` and `@default`. */
export function readDocComment(comment: string): DocComment {
  const [main = '', ...tags] = comment.split(/^@(?=[a-z]+)/m);
  const examples: string[] = [];
  let text = main.trim().replace(/\{@link ([^}]+)\}/g, '`$1`');
  for (const tag of tags) {
    const [, name, content = ''] = /^([a-z]+)\s*([\s\S]*)$/.exec(tag.trim()) ?? [];
    if (name === 'example') examples.push(withoutFence(content));
    if (name === 'default') text = `${text} Default: \`${content.replaceAll('`', '')}\`.`.trim();
  }
  return { text, examples };
}

/** Returns a text as one paragraph for a list item. Its own lists become sentences. */
export function asParagraph(text: string): string {
  return text.replace(/\n+- /g, ' · ').replace(/\s+/g, ' ').trim();
}

function withoutFence(code: string): string {
  return code
    .replace(/^```\w*\n/, '')
    .replace(/\n```\s*$/, '')
    .trimEnd();
}
