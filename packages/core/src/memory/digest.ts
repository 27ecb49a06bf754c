/** Returns the SHA-256 of a text, as hex. A page without HTTPS cannot compute it. */
export async function digest(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', toUtf8(text));
  const bytes = Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0'));
  return bytes.join('');
}

let encoder: TextEncoder | undefined;

/**
 * Returns the UTF-8 bytes of a text. Keeps its encoder, because a new one costs more than a text.
 */
export function toUtf8(text: string): Uint8Array<ArrayBuffer> {
  encoder ??= new TextEncoder();
  return encoder.encode(text);
}
