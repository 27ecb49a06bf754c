/** Tags that this library puts around foreign text. */
const tags: readonly string[] = ['retrieved_context', 'response_format', 'long_term_memory'];

/**
 * Wraps foreign text in `<name>` and `</name>`, after `cleanText`. A tag in the text could end the
 * block or imitate another block. In tags named `name`, in tags of this library and in `others`,
 * `<` therefore becomes `&lt;`. All other text stays unchanged.
 */
export function fence(name: string, text: string, others: readonly string[] = []): string {
  return `<${name}>\n${withoutTags(cleanText(text), [name, ...others])}\n</${name}>`;
}

function withoutTags(text: string, names: readonly string[]): string {
  // Also finds look-alikes of "<" and invisible characters. One character class matches all
  // characters before the name, so the regular expression reads them only once.
  return text.replace(
    new RegExp(`[<＜﹤](?=[\\s/／\\p{Cf}]*(?:${[...tags, ...names].join('|')})(?![\\w-]))`, 'giu'),
    '&lt;',
  );
}

/**
 * Returns text that every server accepts: no unpaired surrogates, no control characters except tab
 * and line feed.
 */
export function cleanText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(/[^\P{Cc}\t\n]/gu, '');
}
