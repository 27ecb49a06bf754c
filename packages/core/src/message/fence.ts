/** The tags that this library puts around text that is not its own. */
const tags: readonly string[] = ['retrieved_context', 'response_format', 'long_term_memory'];

/**
 * Text that comes from outside between `<name>` and `</name>`. It stays as it is, but for the `<`
 * of what could end the block or pose as another one (a tag of this library's, of `name` or of
 * `others`), which becomes `&lt;`, and for what `cleanText` takes out.
 */
export function fence(name: string, text: string, others: readonly string[] = []): string {
  return `<${name}>\n${withoutTags(cleanText(text), [name, ...others])}\n</${name}>`;
}

function withoutTags(text: string, names: readonly string[]): string {
  // One class for what may stand before the name, so that it is read once; look-alikes of "<" and
  // unseen characters count.
  return text.replace(
    new RegExp(`[<＜﹤](?=[\\s/／\\p{Cf}]*(?:${[...tags, ...names].join('|')})(?![\\w-]))`, 'giu'),
    '&lt;',
  );
}

/**
 * Text that every server takes: no half surrogate pairs, no control characters but tab and line
 * break.
 */
export function cleanText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(/[^\P{Cc}\t\n]/gu, '');
}
