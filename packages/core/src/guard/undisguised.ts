/** A text in the plain characters that it looks like, and where each of them stands in it. */
export interface Undisguised {
  readonly text: string;
  at(index: number): number;
}

/** ASCII for fullwidth forms and for dashes; without zero-width characters. */
export function withoutDisguise(raw: string): Undisguised {
  const text = raw
    .replace(/[\uff01-\uff5e]/g, (char) => String.fromCharCode(char.charCodeAt(0) - 0xfee0))
    .replace(/[\u00a0\u2002-\u200a\u202f\u3000]/g, ' ')
    .replace(/[\u2010-\u2015\u2212\u30fc\ufe63]/g, '-');
  if (text.search(/[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/) < 0) return { text, at: (index) => index };
  const places: number[] = [];
  let seen = '';
  for (const piece of text.matchAll(/[^\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{1,1000}/g)) {
    seen += piece[0];
    for (let index = 0; index < piece[0].length; index++) places.push(piece.index + index);
  }
  return { text: seen, at: (index) => places[index]! };
}
