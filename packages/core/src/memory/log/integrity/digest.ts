import { toUtf8 } from './utf8.ts';

/** Returns the SHA-256 of a text, as hex. Needs `canDigest()`. */
export async function digest(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', toUtf8(text));
  let hex = '';
  for (const byte of new Uint8Array(hash)) hex += byte.toString(16).padStart(2, '0');
  return hex;
}

/** Returns whether the runtime can digest texts. A page without HTTPS cannot. */
export function canDigest(): boolean {
  return (crypto as { readonly subtle?: SubtleCrypto }).subtle !== undefined;
}
