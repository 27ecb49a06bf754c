/**
 * Creates a function that returns the SHA-256 of a text's UTF-8, as hex. The function is
 * synchronous, because code that masks streamed text can't wait for `crypto.subtle`.
 */
export function sha256(): (text: string) => string {
  const primes = firstPrimes(64);
  const constants = primes.map((prime) => fraction(Math.cbrt(prime)));
  const begin = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
  return (text) => {
    const words = paddedWords(text);
    let hash: readonly number[] = begin;
    for (let at = 0; at < words.length; at += 16)
      hash = mixBlock(hash, expandBlock(words.slice(at, at + 16)), constants);
    return hash.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  };
}

/** Returns the words of a text: its bytes, a single bit, and its length in bits at the end. */
function paddedWords(text: string): readonly number[] {
  const bytes = new TextEncoder().encode(text);
  const words = Array<number>((((bytes.length + 8) >> 6) + 1) << 4).fill(0);
  for (const [at, byte] of [...bytes, 0x80].entries())
    words[at >> 2]! |= byte << (24 - (at % 4) * 8);
  words[words.length - 2] = Math.floor(bytes.length / 2 ** 29);
  words[words.length - 1] = bytes.length << 3;
  return words;
}

/** Expands a block of 16 words to 64. */
function expandBlock(block: readonly number[]): readonly number[] {
  const words = [...block];
  for (let at = 16; at < 64; at++) {
    const a = words[at - 15]!;
    const b = words[at - 2]!;
    const sigma0 = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3);
    const sigma1 = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10);
    words.push((words[at - 16]! + sigma0 + words[at - 7]! + sigma1) | 0);
  }
  return words;
}

/** Mixes a block into the hash. The names are those of FIPS 180-4. */
function mixBlock(
  hash: readonly number[],
  words: readonly number[],
  constants: readonly number[],
): readonly number[] {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (const [at, word] of words.entries()) {
    const rotatedE = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const t1 = h + rotatedE + ((e & f) ^ (~e & g)) + constants[at]! + word;
    const rotatedA = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const t2 = rotatedA + ((a & b) ^ (a & c) ^ (b & c));
    [a, b, c, d, e, f, g, h] = [(t1 + t2) | 0, a, b, c, (d + t1) | 0, e, f, g];
  }
  return [a, b, c, d, e, f, g, h].map((word, at) => (word + hash[at]!) | 0);
}

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}

function firstPrimes(count: number): readonly number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime)) found.push(n);
  return found;
}
