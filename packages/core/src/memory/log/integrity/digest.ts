import { sha256 } from './sha256.ts';

/**
 * Returns the SHA-256 of a text, as hex. Uses `crypto.subtle` if it exists. A page without HTTPS
 * does not have it.
 */
export async function digest(text: string): Promise<string> {
  const { subtle } = crypto as { readonly subtle?: SubtleCrypto };
  if (!subtle) return sha256()(text);
  const hash = await subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
