/**
 * Replaces secrets in a stream of UTF-8 with `***`, even if a secret is split over two chunks.
 * Holds back only text that may be the beginning of a secret.
 */
export function redactStream(secrets: readonly string[]): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
  const encoder = new TextEncoder();
  let unsentText = '';
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const text = redactText(unsentText + decoder.decode(chunk, { stream: true }), secrets);
      const end = Math.min(...secrets.map((secret) => startOf(secret, text)), text.length);
      unsentText = text.slice(end);
      if (end > 0) controller.enqueue(encoder.encode(text.slice(0, end)));
    },
    flush(controller) {
      unsentText += decoder.decode();
      if (unsentText) controller.enqueue(encoder.encode(unsentText));
    },
  });
}

/** `secrets`: texts that are not empty, the longest first, because one may contain another. */
function redactText(text: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, '***'), text);
}

/** Returns where the beginning of a secret at the end of a text starts, or the text's length. */
function startOf(secret: string, text: string): number {
  const [first] = secret;
  let at = text.indexOf(first!, Math.max(0, text.length - secret.length + 1));
  while (at >= 0 && !secret.startsWith(text.slice(at))) at = text.indexOf(first!, at + 1);
  return at < 0 ? text.length : at;
}
