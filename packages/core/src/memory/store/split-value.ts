/**
 * Splits a JSON text for a store with a limit of `maxBytes` (UTF-8) per value. A text that fits
 * stays one value. Each part of a longer text becomes a JSON string, so that every value is JSON.
 */
export function splitValue(text: string, maxBytes: number): readonly string[] {
  if (text.length * 3 <= maxBytes || fittingEnd(text, 0, maxBytes, 1) === text.length)
    return [text];
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = fittingEnd(text, start, maxBytes - 2, 2);
    pieces.push(JSON.stringify(text.slice(start, end)));
    start = end;
  }
  return pieces;
}

/** Joins the values that `splitValue` returned. Throws a `SyntaxError` if a piece is not JSON. */
export function joinValue(values: readonly string[]): string {
  return values.length === 1
    ? (values[0] ?? '')
    : values.map((value) => String(JSON.parse(value))).join('');
}

/**
 * Returns the end of the longest part from `start` with at most `maxBytes`. The part is never
 * empty. Each quote and backslash counts as `quoteBytes`.
 */
function fittingEnd(text: string, start: number, maxBytes: number, quoteBytes: number): number {
  let bytes = 0;
  let end = start;
  while (end < text.length) {
    const codePoint = text.codePointAt(end) ?? 0;
    bytes += codePoint === 0x22 || codePoint === 0x5c ? quoteBytes : utf8Bytes(codePoint);
    if (bytes > maxBytes && end > start) break;
    end += codePoint > 0xffff ? 2 : 1;
  }
  return end;
}

function utf8Bytes(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}
