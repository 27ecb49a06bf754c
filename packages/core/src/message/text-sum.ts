/** Returns a checksum of a text (FNV-1a, 32 bits). */
export function textSum(text: string): number {
  let sum = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193);
  return sum >>> 0;
}
