/**
 * Creates a function that returns the SHA-256 of a text's UTF-8, as hex. The function is
 * synchronous, because code that masks streamed text can't wait for `crypto.subtle`.
 */
export function sha256(): (text: string) => string {
  const constants = primes(64).map((prime) => fraction(Math.cbrt(prime)));
  const begin = Uint32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)));
  return (text) => digest(text, constants, begin);
}

function digest(text: string, constants: readonly number[], begin: Uint32Array): string {
  const bytes = new TextEncoder().encode(text);
  const words = new Uint32Array((((bytes.length + 8) >> 6) + 1) << 4);
  for (const [index, byte] of bytes.entries()) words[index >> 2]! |= byte << (24 - (index % 4) * 8);
  words[bytes.length >> 2]! |= 0x80 << (24 - (bytes.length % 4) * 8);
  words[words.length - 2] = Math.floor(bytes.length / 2 ** 29);
  words[words.length - 1] = bytes.length << 3;
  const hash = begin.slice();
  const schedule = new Uint32Array(64);
  for (let block = 0; block < words.length; block += 16) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) schedule[i] = words[block + i]!;
      else {
        const a = schedule[i - 15]!;
        const b = schedule[i - 2]!;
        const first = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3);
        schedule[i] =
          schedule[i - 16]! +
          first +
          schedule[i - 7]! +
          (rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10));
      }
    }
    let [a, b, c, d, e, f, g, h] = hash as unknown as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    for (let i = 0; i < 64; i++) {
      const choice = (e & f) ^ (~e & g);
      const first =
        (h +
          (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
          choice +
          constants[i]! +
          schedule[i]!) |
        0;
      const second =
        ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) hash[index]! += value;
  }
  return Array.from(hash, (word) => word.toString(16).padStart(8, '0')).join('');
}

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}

function primes(count: number): readonly number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime)) found.push(n);
  return found;
}
