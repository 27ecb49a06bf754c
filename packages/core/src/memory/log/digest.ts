import { sha256 } from './sha256.ts';

/**
 * SHA-256 of a text, as hex; by the platform where it can: a page that is not served securely has
 * no `crypto.subtle`.
 */
export async function digest(text: string): Promise<string> {
  const { subtle } = crypto as { readonly subtle?: SubtleCrypto };
  if (!subtle) return sha256()(text);
  const hash = await subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
