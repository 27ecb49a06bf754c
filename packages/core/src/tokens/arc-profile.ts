import type { TokenProfile } from './token-profile.ts';

/**
 * Profile with Arc Reactor's heuristic. Four ASCII characters, one emoji, or three other characters
 * count as one token. Three CJK characters count as two tokens. A media block counts as 1600
 * tokens, the maximum that most providers charge for an image. (Arc Reactor itself does not count
 * media.)
 */
export const arc: TokenProfile = {
  name: 'arc',
  countText,
  perMessage: 0,
  perToolCall: 0,
  perMedia: 1600,
};

function countText(text: string): number {
  const { length } = text;
  if (length === 0) return 0;
  let latin = 0;
  let cjk = 0;
  let emoji = 0;
  let other = 0;
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i);
    if (unit <= 0x7f) latin++;
    else if (unit < 0x2600) other++;
    else if (isCjk(unit)) cjk++;
    else if (isBmpEmoji(unit)) emoji++;
    else if (!isHighSurrogate(unit) || !isLowSurrogate(text.charCodeAt(i + 1))) other++;
    else if (isAstralEmoji(text.codePointAt(i++) ?? 0)) emoji++;
    else other++;
  }
  const tokens =
    Math.floor(latin / 4) + Math.floor((cjk * 2 + 1) / 3) + emoji + Math.floor(other / 3);
  return Math.max(1, tokens);
}

/** Returns whether a UTF-16 unit is Han, a Hangul syllable, Hiragana or Katakana. */
function isCjk(unit: number): boolean {
  return (
    (unit >= 0x4e00 && unit <= 0x9fff) ||
    (unit >= 0xac00 && unit <= 0xd7af) ||
    (unit >= 0x3040 && unit <= 0x30ff)
  );
}

/** Returns whether a UTF-16 unit from U+2600 on is a symbol, a dingbat or a variation selector. */
function isBmpEmoji(unit: number): boolean {
  return unit <= 0x27bf || (unit >= 0xfe00 && unit <= 0xfe0f);
}

function isAstralEmoji(codePoint: number): boolean {
  return codePoint >= 0x1f300 && codePoint <= 0x1faff;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/**
 * Returns whether a UTF-16 unit is a low surrogate. Returns false for `NaN`, which `charCodeAt`
 * returns after the end of a text.
 */
function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
