import { formsOf, withoutTexts } from '../../error/mask-secrets.ts';
import { addressOf } from './base-url.ts';
import type { HttpRequest } from './http-request.ts';

/** Shorter values are not secrets, and removing them would remove words. */
const shortest = 8;

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
    .filter(({ length }) => length >= shortest);
  const forms = secrets.flatMap(formsOf);
  return forms.reduce(withoutCutSecret, withoutTexts(text, forms));
}

/** Removes the beginning of a secret at the end of a quoted text, which may be cut within it. */
function withoutCutSecret(text: string, secret: string): string {
  const at = text.lastIndexOf(secret.slice(0, shortest));
  const isCut = at >= 0 && text.endsWith('…') && secret.startsWith(text.slice(at, -1));
  return isCut ? `${text.slice(0, at)}***…` : text;
}
