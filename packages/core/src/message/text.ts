/** Returns the first `length` characters of a text. Servers reject half a surrogate pair. */
export function startOf(text: string, length: number): string {
  return text.slice(0, Math.max(0, length)).replace(/[\uD800-\uDBFF]$/, '');
}

/** Returns the text, or its first `length` characters and an ellipsis if it is longer. */
export function shortenText(text: string, length: number): string {
  return text.length > length ? `${startOf(text, length)}…` : text;
}

/** Returns a checksum of a text (FNV-1a, 32 bits). */
export function textSum(text: string): number {
  let sum = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193);
  return sum >>> 0;
}
