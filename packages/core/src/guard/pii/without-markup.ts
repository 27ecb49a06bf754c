import { withoutDisguise, type Undisguised } from '../input/undisguised.ts';

/**
 * A tag within a word or number, such as `<b>`. Tags of table cells and paragraphs separate words, so
 * they do not count.
 */
const tag =
  '</?(?:a|abbr|b|bdi|bdo|big|code|em|font|i|ins|kbd|mark|q|s|small|span|strike|strong|sub|sup|tt|u|wbr)(?:\\s[^<>\\n]{0,200})?/?>';

/** Finds a tag beside a digit. */
export const inlineTag: RegExp = new RegExp(`\\d\\s?${tag}|${tag}\\s?\\d`, 'i');

/** Returns a text without its inline tags and without its disguises. */
export function withoutMarkup(raw: string): Undisguised {
  /** Places after which the text is shorter, with the length of all tags until there. */
  const cuts: { readonly at: number; readonly removed: number }[] = [];
  let removed = 0;
  const text = raw.replace(new RegExp(tag, 'gi'), (found: string, at: number) => {
    cuts.push({ at: at - removed, removed: removed + found.length });
    removed += found.length;
    return '';
  });
  const place = (index: number): number => {
    let low = 0;
    let high = cuts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cuts[middle]!.at <= index) low = middle + 1;
      else high = middle;
    }
    return index + (cuts[low - 1]?.removed ?? 0);
  };
  const inner = withoutDisguise(text);
  return {
    text: inner.text,
    written: inner.written,
    start: (index) => place(inner.start(index)),
    end: (index) => place(inner.end(index) - 1) + 1,
  };
}
