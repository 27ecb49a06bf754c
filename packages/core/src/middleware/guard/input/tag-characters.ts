/**
 * Characters U+E0020 to U+E007E, each the hidden form of an ASCII character. People do not see
 * them, but models may read them.
 */
const tag = /\udb40[\udc20-\udc7e]/g;

export function hasTags(text: string): boolean {
  return text.search(tag) >= 0;
}

export function isTag(char: string): boolean {
  return char >= '\u{e0020}' && char <= '\u{e007e}';
}

/** Replaces each tag character with its ASCII character. */
export function withReadTags(text: string): string {
  return text.replace(tag, readTag);
}

/** Returns the text that the tag characters spell. */
export function tagsOnly(text: string): string {
  return withReadTags(text.match(tag)?.join('') ?? '');
}

/** Returns the ASCII character of a tag character. */
export function readTag(char: string): string {
  return String.fromCharCode(char.charCodeAt(1) - 0xdc00);
}
