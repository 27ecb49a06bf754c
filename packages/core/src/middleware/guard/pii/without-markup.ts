import { withoutDisguise, type Undisguised } from '../normalize-text.ts';
import { rewriteText } from '../rewritten-text.ts';

/**
 * A tag within a word or number, such as `<b>`. Tags of table cells and paragraphs separate words,
 * so they do not count.
 */
const openTag =
  '</?(?:a|abbr|b|bdi|bdo|big|code|em|font|i|ins|kbd|mark|q|s|small|span|strike|strong|sub|sup|tt|u|wbr)(?:\\s[^<>\\n]{0,200})?';
const tag = `${openTag}/?>`;

/** Length of the longest tag, in characters. */
const maxTag = 212;

/** Finds a tag beside a digit. */
export const inlineTag: RegExp = new RegExp(`\\d\\s?${tag}|${tag}\\s?\\d`, 'i');

const wholeTag = new RegExp(`^${tag}$`, 'i');
const wholeOpenTag = new RegExp(`^${openTag}$`, 'i');

/** Returns the length of the inline tag that ends at an index; 0 if there is none. */
export function tagLength(text: string, end: number): number {
  return text[end - 1] === '>' ? lengthOf(wholeTag, text, end) : 0;
}

/** Returns the length of the inline tag at the end of a text that has no `>` yet; 0 if none. */
export function openTagLength(text: string): number {
  return lengthOf(wholeOpenTag, text, text.length);
}

function lengthOf(pattern: RegExp, text: string, end: number): number {
  const tail = text.slice(Math.max(0, end - maxTag), end);
  const last = tail.slice(Math.max(0, tail.lastIndexOf('<')));
  return pattern.test(last) ? last.length : 0;
}

/** Returns a text without its inline tags and without its disguises. */
export function withoutMarkup(raw: string): Undisguised {
  const withoutTags = rewriteText(raw, new RegExp(tag, 'gi'), () => '');
  const plain = withoutDisguise(withoutTags.text);
  return {
    ...plain,
    start: (index) => withoutTags.start(plain.start(index)),
    end: (index) => withoutTags.end(plain.end(index) - 1),
  };
}
