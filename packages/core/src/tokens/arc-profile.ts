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
  if (text === '') return 0;
  let latin = 0;
  let cjk = 0;
  let emoji = 0;
  let other = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.codePointAt(i)!;
    if (code > 0xffff) i++;
    if (code <= 0x7f) latin++;
    else if (isCjk(code)) cjk++;
    else if (isEmoji(code)) emoji++;
    else other++;
  }
  const tokens =
    Math.floor(latin / 4) + Math.floor((cjk * 2 + 1) / 3) + emoji + Math.floor(other / 3);
  return Math.max(1, tokens);
}

/** Returns whether a code point is Han, a Hangul syllable, Hiragana or Katakana. */
function isCjk(code: number): boolean {
  return (
    (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7af) ||
    (code >= 0x3040 && code <= 0x30ff)
  );
}

/** Returns whether a code point is a symbol, a dingbat, a variation selector or an emoji. */
function isEmoji(code: number): boolean {
  return (
    (code >= 0x2600 && code <= 0x27bf) ||
    (code >= 0xfe00 && code <= 0xfe0f) ||
    (code >= 0x1f300 && code <= 0x1faff)
  );
}
