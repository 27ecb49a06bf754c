/** Returns the SHA-256 of a text, as hex. Needs `canDigest()`. */
export async function digest(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns whether the runtime can digest texts. A page without HTTPS cannot. */
export function canDigest(): boolean {
  return (crypto as { readonly subtle?: SubtleCrypto }).subtle !== undefined;
}
