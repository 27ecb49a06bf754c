/** Encodes bytes in parts, because a function call accepts a limited number of arguments. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.length; start += 0x2000)
    text += String.fromCharCode(...bytes.subarray(start, start + 0x2000));
  return btoa(text);
}
