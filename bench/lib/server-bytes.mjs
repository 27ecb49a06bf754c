const bytesPerWrite = 16 * 1024;

/** Splits a text into writes of 16 kB, as a server does. A write may end inside a character. */
export function pieces(text) {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / bytesPerWrite) }, (_, i) =>
    bytes.subarray(i * bytesPerWrite, (i + 1) * bytesPerWrite),
  );
}

export function occurrences(bytes, text) {
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + text.length)) count++;
  return count;
}
