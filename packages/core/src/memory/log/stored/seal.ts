/** A value as JSON text, with its checksum as the last field. */
export interface SealedText {
  readonly text: string;
  readonly sum: number;
}

const tail = /,"sum":(\d+)\}$/;
/** Maximum length of the field `sum` with its punctuation, in characters. */
const tailLength = ',"sum":9007199254740991}'.length;

/**
 * Returns an object as JSON with a checksum. The checksum includes `sealKey`, the key under which
 * the text is stored.
 */
export function seal(value: object, sealKey: string): SealedText {
  const text = JSON.stringify(value).slice(0, -1);
  const sum = checksum(text, sealKey);
  return { text: `${text},"sum":${sum}}`, sum };
}

/**
 * Returns whether a text has a checksum. Throws a `RangeError` if the checksum does not match the
 * text and the key.
 */
export function checkSeal(text: string, sealKey: string): boolean {
  const match = tail.exec(text.slice(-tailLength));
  if (!match) return false;
  if (checksum(text.slice(0, -match[0].length), sealKey) !== Number(match[1]))
    throw new RangeError('The checksum differs');
  return true;
}

/**
 * Returns a checksum below 2^53 of a text and of the key under which the text is stored. The
 * checksum detects damage, not forgery. This function is synchronous and fast; `crypto.subtle`
 * takes longer than reading a record.
 */
function checksum(text: string, sealKey: string): number {
  let low = 0x9747b28c;
  let high = text.length;
  for (const part of [sealKey, text]) {
    for (let index = 0; index < part.length; index++) {
      const codeUnit = part.charCodeAt(index);
      // Different units always give different values here, so a change of one unit always changes
      // the result.
      low = Math.imul(low ^ codeUnit, 0x9e3779b1);
      const mixed = high ^ codeUnit;
      high = Math.imul((mixed << 15) | (mixed >>> 17), 0x85ebca77);
    }
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}
