import { addressOf } from './base-url.ts';
import type { HttpRequest } from './http-transport.ts';

/** Shorter values are not secrets, and removing them would remove words. */
const minSecretLength = 8;

/**
 * Removes the request's header values, and the secrets of its address, from a text. Servers and
 * runtimes quote what was sent, such as a wrong key.
 */
export function withoutSecrets(text: string, { url, headers }: HttpRequest): string {
  const address = addressOf(url);
  const parts = url.split(/[/?&=@:#]+/).filter((part) => !address.includes(part));
  const secrets = Object.values(headers)
    .map((value) => value.trim().replace(/^(bearer|basic) +/i, ''))
    .concat(parts)
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .filter(({ length }) => length >= minSecretLength)
    // A longer secret may contain a shorter one.
    .toSorted((one, other) => other.length - one.length);
  return secrets.reduce(withoutSecret, text);
}

/**
 * Removes a secret. At the end of a quoted text, also its beginning, because a shortened text may
 * split it.
 */
function withoutSecret(text: string, secret: string): string {
  const maskedText = text.replaceAll(secret, '***');
  const at = maskedText.lastIndexOf(secret.slice(0, minSecretLength));
  const endsInSecret =
    at >= 0 && maskedText.endsWith('…') && secret.startsWith(maskedText.slice(at, -1));
  return endsInSecret ? `${maskedText.slice(0, at)}***…` : maskedText;
}
