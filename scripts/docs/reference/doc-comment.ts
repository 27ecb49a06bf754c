/** The parts of a documentation comment. */
export interface DocComment {
  /** The text as Markdown. */
  readonly text: string;
  readonly examples: readonly string[];
}

/** Reads a documentation comment without its stars. Knows `@example`. */
export function readDocComment(comment: string): DocComment {
  const [main = '', ...tags] = comment.split(/^@(?=[a-z]+)/m);
  const examples: string[] = [];
  const text = main.trim().replace(/\{@link ([^}]+)\}/g, '`$1`');
  for (const tag of tags) {
    const [, name, content = ''] = /^([a-z]+)\s*([\s\S]*)$/.exec(tag.trim()) ?? [];
    if (name === 'example') examples.push(withoutFence(content));
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
