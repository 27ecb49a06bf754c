/**
 * Returns a checksum below 2^53 of a text and of the place where the text is stored. The checksum
 * detects damage, not forgery. This function is synchronous and fast; `crypto.subtle` takes longer
 * than reading a record.
 */
export function checksum(text: string, place: string): number {
  let one = 0x9747b28c;
  let two = text.length;
  for (const part of [place, text]) {
    for (let at = 0; at < part.length; at++) {
      const unit = part.charCodeAt(at);
      // Different units always give different values here, so a change of one unit always changes
      // the result.
      one = Math.imul(one ^ unit, 0x9e3779b1);
      const mixed = two ^ unit;
      two = Math.imul((mixed << 15) | (mixed >>> 17), 0x85ebca77);
    }
  }
  return (two >>> 11) * 2 ** 32 + (one >>> 0);
}
