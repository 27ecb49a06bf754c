import { withoutDisguise, type UndisguisedText } from '../normalize-text.ts';
import { rewriteText } from '../rewritten-text.ts';

/**
 * A tag within a word or number, such as `<b>`. Tags of table cells and paragraphs separate words,
 * so they do not count.
 */
const openTag =
  '</?(?:a|abbr|b|bdi|bdo|big|code|em|font|i|ins|kbd|mark|q|s|small|span|strike|strong|sub|sup|tt|u|wbr)(?:\\s[^<>\\n]{0,200})?';
const tag = `${openTag}/?>`;

/** Length of the longest tag, in characters. */
const maxTagLength = 212;

const tagBesideDigit = new RegExp(`\\d\\s?${tag}|${tag}\\s?\\d`, 'i');

const wholeTag = new RegExp(`^${tag}$`, 'i');
const wholeOpenTag = new RegExp(`^${openTag}$`, 'i');

/** Returns whether a text has an inline tag beside a digit. */
export function hasTagBesideDigit(text: string): boolean {
  return tagBesideDigit.test(text);
}

/** Returns the length of the inline tag before an index. Without a tag, returns 0. */
export function tagLength(text: string, end: number): number {
  return text[end - 1] === '>' ? lengthOf(wholeTag, text, end) : 0;
}

/** Returns the length of an inline tag at the end of a text, still without `>`, or 0. */
export function openTagLength(text: string): number {
  return lengthOf(wholeOpenTag, text, text.length);
}

function lengthOf(pattern: RegExp, text: string, end: number): number {
  const tail = text.slice(Math.max(0, end - maxTagLength), end);
  const lastTag = tail.slice(Math.max(0, tail.lastIndexOf('<')));
  return pattern.test(lastTag) ? lastTag.length : 0;
}

/** Returns a text without its inline tags and without its disguises. */
export function withoutMarkup(raw: string): UndisguisedText {
  const withoutTags = rewriteText(raw, new RegExp(tag, 'gi'), () => '');
  const reading = withoutDisguise(withoutTags.text);
  return {
    ...reading,
    start: (index) => withoutTags.start(reading.start(index)),
    end: (index) => withoutTags.end(reading.end(index) - 1),
  };
}
