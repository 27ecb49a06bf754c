/**
 * A text whose disguised characters were replaced with the plain characters that they resemble.
 * `at` returns the index in the original text of the character at `index`.
 */
export interface Undisguised {
  readonly text: string;
  at(index: number): number;
}

/**
 * Converts fullwidth forms, special spaces and dashes to ASCII, and removes zero-width characters.
 */
export function withoutDisguise(raw: string): Undisguised {
  if (!disguise.test(raw)) return { text: raw, at: (index) => index };
  const units = new Uint16Array(raw.length);
  const places = new Uint32Array(raw.length);
  let count = 0;
  for (let index = 0; index < raw.length; index++) {
    const unit = plainUnit(raw.charCodeAt(index));
    if (unit === undefined) continue;
    units[count] = unit;
    places[count++] = index;
  }
  return { text: textOf(units.subarray(0, count)), at: (index) => places[index]! };
}

const disguise =
  /[\u00a0\u00ad\u2002-\u200f\u2010-\u2015\u202f\u2060-\u2064\u2212\u3000\u30fc\ufe63\ufeff\uff01-\uff5e]/;

/** Returns the code unit that `unit` looks like, or `undefined` if `unit` is invisible. */
function plainUnit(unit: number): number | undefined {
  if (unit < 0xa0) return unit;
  if (unit >= 0xff01 && unit <= 0xff5e) return unit - 0xfee0;
  if (unit === 0xa0 || (unit >= 0x2002 && unit <= 0x200a) || unit === 0x202f || unit === 0x3000)
    return 0x20;
  if ((unit >= 0x2010 && unit <= 0x2015) || unit === 0x2212 || unit === 0x30fc || unit === 0xfe63)
    return 0x2d;
  return unit === 0xad ||
    (unit >= 0x200b && unit <= 0x200f) ||
    (unit >= 0x2060 && unit <= 0x2064) ||
    unit === 0xfeff
    ? undefined
    : unit;
}

/** Builds the text in chunks, because a function cannot take a million arguments. */
function textOf(units: Uint16Array): string {
  let text = '';
  for (let from = 0; from < units.length; from += 8192)
    text += String.fromCharCode(...units.subarray(from, from + 8192));
  return text;
}
