/**
 * Number of bytes that are encoded at a time. Another number would change the stored checksums,
 * because each chunk is padded to whole words.
 */
const chunkBytes = 16_384;

interface Scratch {
  readonly encoder: TextEncoder;
  readonly chunk: Uint8Array<ArrayBuffer>;
  /** The chunk, and padding for its last word. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly words: DataView;
}

let scratch: Scratch | undefined;

/**
 * Returns a checksum below 2^53 of a text and of the place where the text is stored. The checksum
 * detects damage, not forgery. This function is synchronous and fast; `crypto.subtle` takes longer
 * than reading a record.
 */
export function checksum(text: string, place: string): number {
  scratch ??= makeScratch();
  const { encoder, chunk, bytes, words } = scratch;
  let one = 0x9747b28c;
  // Counts the U+FFFD characters, because `TextEncoder` also writes a lone surrogate as U+FFFD.
  let two = text.length + text.split('\ufffd').length * 2 ** 20;
  for (const part of [place, text]) {
    for (let rest = part; rest.length > 0;) {
      const { read, written } = encoder.encodeInto(rest, chunk);
      bytes.fill(0, written, written + 3);
      for (let at = 0; at < written; at += 4) {
        const word = words.getInt32(at, true);
        // Different words always give different values here, so a change of one word always changes
        // the result.
        one = Math.imul(one ^ word, 0x9e3779b1);
        const mixed = two ^ word;
        two = Math.imul((mixed << 15) | (mixed >>> 17), 0x85ebca77);
      }
      rest = read < rest.length ? rest.slice(read) : '';
    }
  }
  return (two >>> 11) * 2 ** 32 + (one >>> 0);
}

function makeScratch(): Scratch {
  const bytes = new Uint8Array(chunkBytes + 4);
  return {
    encoder: new TextEncoder(),
    chunk: bytes.subarray(0, chunkBytes),
    bytes,
    words: new DataView(bytes.buffer),
  };
}
