/**
 * Replaces secrets in a stream of bytes with `***`, even if a secret is split over two chunks.
 * Holds back only bytes that may be the beginning of a secret.
 */
export function redactStream(secrets: readonly string[]): TransformStream<Uint8Array, Uint8Array> {
  const hidden = secrets.filter(Boolean).map((secret) => new TextEncoder().encode(secret));
  let rest: Uint8Array = new Uint8Array();
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const bytes = rest.length ? joined(rest, chunk) : chunk;
      const { clean, used } = redacted(bytes, hidden);
      const kept = startOfSecret(bytes, used, hidden);
      rest = bytes.slice(bytes.length - kept);
      const end = clean.length - kept;
      if (end > 0) controller.enqueue(clean.subarray(0, end));
    },
    flush(controller) {
      if (rest.length) controller.enqueue(rest);
    },
  });
}

export function redactText(text: string, secrets: readonly string[]): string {
  return secrets.filter(Boolean).reduce((clean, secret) => clean.replaceAll(secret, '***'), text);
}

const stars = new TextEncoder().encode('***');

/**
 * Replaces the secrets in `bytes`. `used`: end of the last secret in `bytes`. Returns `bytes`
 * itself if there is no secret, as in most chunks.
 */
function redacted(
  bytes: Uint8Array,
  secrets: readonly Uint8Array[],
): { readonly clean: Uint8Array; readonly used: number } {
  const parts: Uint8Array[] = [];
  let used = 0;
  for (let next = findSecret(bytes, 0, secrets); next; next = findSecret(bytes, used, secrets)) {
    parts.push(bytes.subarray(used, next.at), stars);
    used = next.at + next.length;
  }
  if (!parts.length) return { clean: bytes, used };
  return { clean: [...parts, bytes.subarray(used)].reduce(joined), used };
}

/** Returns the position and the length of the first secret at or after `from`. */
function findSecret(
  bytes: Uint8Array,
  from: number,
  secrets: readonly Uint8Array[],
): { at: number; length: number } | undefined {
  let first: { at: number; length: number } | undefined;
  for (const secret of secrets) {
    let at = bytes.indexOf(secret[0]!, from);
    while (at >= 0 && !isAt(bytes, at, secret, secret.length))
      at = bytes.indexOf(secret[0]!, at + 1);
    if (at >= 0 && (!first || at < first.at)) first = { at, length: secret.length };
  }
  return first;
}

/** Returns the number of bytes at the end that may be the beginning of a secret. */
function startOfSecret(bytes: Uint8Array, from: number, secrets: readonly Uint8Array[]): number {
  const longest = Math.max(0, ...secrets.map(({ length }) => length - 1));
  for (let at = Math.max(from, bytes.length - longest); at < bytes.length; at++) {
    const length = bytes.length - at;
    if (secrets.some((secret) => length < secret.length && isAt(bytes, at, secret, length)))
      return length;
  }
  return 0;
}

function isAt(bytes: Uint8Array, at: number, secret: Uint8Array, length: number): boolean {
  if (at + length > bytes.length) return false;
  for (let index = 0; index < length; index++)
    if (bytes[at + index] !== secret[index]) return false;
  return true;
}

function joined(left: Uint8Array, right: Uint8Array): Uint8Array {
  const both = new Uint8Array(left.length + right.length);
  both.set(left);
  both.set(right, left.length);
  return both;
}
